#pragma once
// Conversion of arrays between NumPy and the library.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "data/hierarchy_edges.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/errors.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove::python {

namespace nb = nanobind;

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

/// (columns, row pointers, column of each value, values), as in scipy.sparse.csr_array. Columns are
/// signed as in SciPy; check_csr refuses those that are out of range.
using Csr = std::tuple<std::uint32_t, Vector<std::int64_t>, Vector<std::int32_t>, Vector<float>>;
/// (row pointers, labels)
using Sets = std::tuple<Vector<std::int64_t>, Vector<std::uint32_t>>;
using Alternatives = std::vector<std::pair<std::string, LabelId>>;
/// (names of the nodes, one row (parent, child) per edge, alternative ids with their nodes)
using Edges = std::tuple<std::vector<std::string>, Matrix<std::uint32_t>, Alternatives>;

template <class T>
std::span<const T> span_of(const Vector<T>& array) {
  return {array.data(), array.size()};
}

/// Does not copy: valid as long as the arrays.
inline CsrView view_of(const Csr& X) {
  const auto& [num_columns, row_pointers, columns, values] = X;
  const auto* ids = reinterpret_cast<const FeatureId*>(columns.data());
  const CsrView view(num_columns, span_of(row_pointers), {ids, columns.size()}, span_of(values));
  check_csr(view);
  return view;
}

/// Hands a vector's memory to NumPy.
template <class T>
nb::object to_numpy(std::vector<T> values, std::vector<std::size_t> shape) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(kept->data(), shape.size(), shape.data(), owner));
}
template <class T>
nb::object to_numpy(std::vector<T> values) {
  const std::size_t size = values.size();
  return to_numpy(std::move(values), {size});
}

inline nb::tuple to_python(const CsrView& view) {
  const auto copy = [](const auto& span) {
    return to_numpy(std::vector(span.begin(), span.end()));
  };
  std::vector<std::int32_t> columns(view.columns().begin(), view.columns().end());
  return nb::make_tuple(view.num_columns(), copy(view.row_pointers()), to_numpy(std::move(columns)),
                        copy(view.values()));
}

inline nb::tuple to_python(const LabelSets& sets) {
  std::vector<std::int64_t> pointers{0};
  std::vector<LabelId> labels;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    labels.insert(labels.end(), sets[i].begin(), sets[i].end());
    pointers.push_back(static_cast<std::int64_t>(labels.size()));
  }
  return nb::make_tuple(to_numpy(std::move(pointers)), to_numpy(std::move(labels)));
}

inline nb::object edges_to_numpy(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges) {
  std::vector<std::uint32_t> flat;
  for (const auto& [parent, child] : edges) {
    flat.push_back(parent);
    flat.push_back(child);
  }
  return to_numpy(std::move(flat), {edges.size(), 2});
}

inline Alternatives alternatives_of(const LabelCodec& codec) {
  return {codec.alternatives().begin(), codec.alternatives().end()};
}

inline LabelSets sets_of(const Sets& python) {
  const auto& [pointers, labels] = python;
  LabelSets sets;
  for (std::size_t i = 0; i + 1 < pointers.size(); ++i) {
    const std::int64_t begin = pointers(i), end = pointers(i + 1);
    require(0 <= begin && begin <= end && static_cast<std::size_t>(end) <= labels.size(),
            "label pointers: row ", i, " is [", begin, ", ", end, "), but must lie in [0, ",
            labels.size(), "]");
    sets.append(span_of(labels).subspan(static_cast<std::size_t>(begin),
                                        static_cast<std::size_t>(end - begin)));
  }
  return sets;
}

inline Hierarchy hierarchy_of(const Edges& python) {
  const auto& [names, edges, alternatives] = python;
  Hierarchy hierarchy;
  hierarchy.codec = LabelCodec(names);
  for (const auto& [other, node] : alternatives) hierarchy.codec.add_alternative(other, node);
  hierarchy.source = "hierarchy";
  for (std::size_t e = 0; e < edges.shape(0); ++e) {
    require(edges(e, 0) < names.size() && edges(e, 1) < names.size(), "hierarchy: edge ", e,
            " names a node that is not one of the ", names.size(), " nodes");
    hierarchy.edges.push_back({edges(e, 0), edges(e, 1)});
  }
  require_acyclic(hierarchy);
  return hierarchy;
}

}  // namespace margrove::python
