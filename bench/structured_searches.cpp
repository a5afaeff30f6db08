// The searches for the most violating labelling side by side (Thesis, tables 4.1 and 5.1): a
// cutting plane run with slack rescaling, in which every search answers every question.
//
//   bench_structured_searches TRAIN.svm LABELS EXAMPLES C [MAX_ROUNDS [MAX_NODES]]
//
// LABELS: the most frequent ones are kept. MAX_NODES: of one branch and bound. Prints, for each
// search, oracle calls and CPU microseconds a question and the share of questions whose maximum it
// missed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "margrove/data/svmlight_reader.hpp"
#include "margrove/oracle/pairwise_field.hpp"
#include "margrove/search/angular.hpp"
#include "margrove/search/convex_hull.hpp"
#include "margrove/search/product_searches.hpp"
#include "margrove/solver/cutting_plane.hpp"

namespace {

using namespace margrove;

double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct Tally {
  std::string name;
  std::int64_t calls = 0, misses = 0, uncertified = 0;
  double seconds = 0;
};

// Runs all searches on each question; the one that drives the solver is exact angular search.
struct AllSearches {
  std::vector<Tally>* tallies;
  std::int64_t* questions;
  double slack = 0.0;

  template <class O>
  SearchResult<LabelVector> operator()(const O& oracle, const SlackRescaling& psi,
                                       LabelCache<LabelVector>& cache) const {
    std::vector<SearchResult<LabelVector>> results;
    const auto run = [&](std::size_t k, const auto& search, LabelCache<LabelVector>& its_cache) {
      const double start = cpu_seconds();
      results.push_back(search(oracle, psi, its_cache));
      (*tallies)[k].seconds += cpu_seconds() - start;
      (*tallies)[k].calls += results.back().oracle_calls;
    };
    LabelCache<LabelVector> none;
    run(0, SarawagiGuptaSearch{.slack = slack}, none);
    run(1, BinarySearch{}, none);
    run(2, BisectingSearch{.warm_start = false}, none);
    run(3, ConvexHullSearch{.max_bans = 0, .warm_start = false}, none);
    run(4, ConvexHullSearch{.warm_start = false}, none);
    run(5, AngularSearch{.use_cache = false}, none);
    run(6, AngularSearch{}, cache);
    ++*questions;
    double best = 0;
    for (const auto& result : results) best = std::max(best, result.value);
    for (std::size_t k = 0; k < results.size(); ++k) {
      (*tallies)[k].misses += results[k].value < best * (1 - 1.001e-3) ? 1 : 0;
      (*tallies)[k].uncertified += results[k].upper_bound > results[k].value * (1 + 1.1e-3) ? 1 : 0;
    }
    return results.back();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: {} TRAIN.svm LABELS EXAMPLES C [MAX_ROUNDS [MAX_NODES]]\n", argv[0]);
    return 2;
  }
  const Dataset data = read_svmlight(argv[1]);
  const auto num_labels = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const auto num_examples = std::min<std::size_t>(data.X.num_rows(), std::atoi(argv[3]));
  const double C = std::atof(argv[4]);
  const int max_rounds = argc > 5 ? std::atoi(argv[5]) : 100;
  const std::int64_t max_nodes = argc > 6 ? std::atoll(argv[6]) : 20000;

  std::vector<std::int64_t> counts(data.codec.size(), 0);
  for (std::size_t i = 0; i < data.labels.num_rows(); ++i) {
    for (const LabelId l : data.labels[i]) ++counts[l];
  }
  std::vector<LabelId> order(counts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](LabelId a, LabelId b) { return counts[a] > counts[b]; });
  std::vector<LabelId> rank(counts.size());
  for (LabelId k = 0; k < order.size(); ++k) rank[order[k]] = k;
  std::vector<std::uint32_t> rows(num_examples);
  std::iota(rows.begin(), rows.end(), 0U);
  const CsrMatrix X = with_intercept(select_rows(data.X, rows), 1.0);
  LabelSets labels;
  for (std::size_t i = 0; i < num_examples; ++i) {
    std::vector<LabelId> kept;
    for (const LabelId l : data.labels[i]) {
      if (rank[l] < num_labels) kept.push_back(rank[l]);
    }
    labels.append(kept);
  }

  std::vector<Tally> tallies;
  for (const auto* name : {"sarawagi-gupta", "binary", "bisecting", "convex-hull",
                           "convex-hull + bans", "angular", "angular + cache"}) {
    tallies.push_back({name});
  }
  std::int64_t questions = 0;
  const FieldModel model(X, labels, num_labels, {.max_nodes = max_nodes});
  Executor executor(1);
  RunControl control;
  CuttingPlane solver(model, SlackRescaling{}, AllSearches{&tallies, &questions},
                      CuttingPlaneOptions{.C = C, .tolerance = 1e-2, .max_rounds = max_rounds},
                      executor, control);
  const StructuredFit fit = solver.run();
  fmt::print(
      "{} examples, {} labels, C {}: {} rounds, {} questions, gap {:.4f}, objective {:.4f}\n",
      num_examples, num_labels, C, fit.passes, questions, fit.relative_gap, fit.primal);
  fmt::print("{:<20} {:>8} {:>10} {:>8} {:>12}\n", "search", "queries", "cpu us", "missed",
             "uncertified");
  for (const Tally& t : tallies) {
    const auto n = static_cast<double>(questions);
    fmt::print("{:<20} {:>8.2f} {:>10.1f} {:>8.3f} {:>12.3f}\n", t.name,
               static_cast<double>(t.calls) / n, 1e6 * t.seconds / n,
               static_cast<double>(t.misses) / n, static_cast<double>(t.uncertified) / n);
  }
  return 0;
}
