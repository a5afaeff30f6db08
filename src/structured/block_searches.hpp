#pragma once
// The searches of block-coordinate Frank-Wolfe: for one example, or for many at the same weights.

#include <cstdint>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/executor.hpp"
#include "structured/accuracy_policy.hpp"
#include "structured/dual_blocks.hpp"
#include "structured/search.hpp"

namespace margrove {

/// One search per worker and one cache per example. The blocks and the executor must outlive it.
template <StructuredModel Model, AffineSurrogate Psi, class Search>
class BlockSearches {
 public:
  using Result = SearchResult<typename Model::Labelling>;
  /// Whether searches can be given a goal.
  static constexpr bool kHaveGoals = GoalSearchFor<Search, OracleOf<Model>, Psi>;

  BlockSearches(DualBlocks<Model, Psi>& blocks, const Search& search, Executor& executor,
                RunControl& control)
      : blocks_(blocks),
        executor_(executor),
        control_(control),
        caches_(blocks.size()),
        searches_(static_cast<std::size_t>(executor.size()), search) {
    blocks_.watch_oracles(control);
  }

  /// Throws OutOfTime, as find_all() does, if the oracle notices that the time limit has passed.
  Result find(std::size_t i, const OracleOf<Model>& oracle, const SearchAccuracy& state,
              Accuracy accuracy) {
    Result result = search(i, oracle, 0, state, accuracy);
    oracle_calls_ += result.oracle_calls;
    return result;
  }

  /// found[k] = the answer for examples[k] under `weights`. accuracy() is called before each search
  /// and returns its accuracy.
  template <class AccuracyNow>
  void find_all(std::span<const std::uint32_t> examples, std::span<const float> weights,
                const SearchAccuracy& state, const AccuracyNow& accuracy, std::span<Result> found) {
    executor_.for_each(examples.size(), [&](std::size_t k, int worker) {
      end_if_out_of_time(&control_);
      const auto oracle = blocks_.oracle(examples[k], weights, worker);
      found[k] = search(examples[k], oracle, worker, state, accuracy());
    });
    for (std::size_t k = 0; k < examples.size(); ++k) oracle_calls_ += found[k].oracle_calls;
  }

  std::int64_t oracle_calls() const { return oracle_calls_; }

  /// Records the time that a pass took for `num_searches` searches.
  void add_time(double seconds, std::size_t num_searches) {
    seconds_ += seconds;
    num_timed_ += static_cast<double>(num_searches);
  }
  /// The mean time of a search in passes; 0 before the first pass.
  double seconds_per_search() const { return num_timed_ > 0 ? seconds_ / num_timed_ : 0.0; }

 private:
  Result search(std::size_t i, const OracleOf<Model>& oracle, int worker,
                const SearchAccuracy& state, Accuracy accuracy) {
    Search& search = searches_[static_cast<std::size_t>(worker)];
    if constexpr (kHaveGoals) {
      SearchGoal goal = state.goal(accuracy);
      if constexpr (EvaluatingOracle<OracleOf<Model>>) {
        if (accuracy == Accuracy::approximate && blocks_.budget(i) > 0) {
          goal = state.goal_above(blocks_.mixture_value_at(i, oracle));
        }
      }
      goal.control = &control_;
      return search(oracle, blocks_.psi(), caches_[i], goal);
    } else {
      return search(oracle, blocks_.psi(), caches_[i]);
    }
  }

  DualBlocks<Model, Psi>& blocks_;
  Executor& executor_;
  RunControl& control_;
  std::vector<LabelCache<typename Model::Labelling>> caches_;
  std::vector<Search> searches_;
  std::int64_t oracle_calls_ = 0;
  double seconds_ = 0.0, num_timed_ = 0.0;
};

}  // namespace margrove
