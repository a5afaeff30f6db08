#pragma once
// The search of single-label hierarchies, whose oracle has looked at every labelling anyway.

#include "outputs/path/path_oracle.hpp"
#include "structured/search.hpp"

namespace margrove {

/// argmax of any surrogate, by looking at every leaf: as expensive as one call of an oracle.
struct LeafSearch {
  template <class Psi>
  SearchResult<NodeId> operator()(const PathModel::Oracle& oracle, const Psi& psi,
                                  LabelCache<NodeId>&) const {
    const auto [best, value] = oracle.maximise(psi);
    return {best, value, value, 1};
  }
};

}  // namespace margrove
