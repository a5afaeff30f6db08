// Compares the searches for the most violating labelling (Thesis, tables 4.1 and 5.1). In a run of
// cutting planes with slack rescaling, every search is run for every example and round (a problem).
//
//   bench_structured_searches TRAIN.svm LABELS EXAMPLES C [MAX_ROUNDS [MAX_NODES]] [relaxed]
//
// LABELS: the number of most frequent labels that are kept. MAX_NODES: of one branch-and-bound
// tree. relaxed: labellings are the points of the linear relaxation, as in the thesis; the solver
// then uses the answers of convex hull search, which is exact there, otherwise those of angular
// search. Prints the oracle calls and CPU microseconds per problem of each search, and the share of
// problems whose maximum it missed.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpu_time.hpp"
#include "data/csr_operations.hpp"
#include "margrove/svmlight_reader.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/field/relaxed_field.hpp"
#include "structured/angular.hpp"
#include "structured/convex_hull.hpp"
#include "structured/cutting_plane.hpp"
#include "structured/product_searches.hpp"

namespace {

using namespace margrove;
using margrove::bench::cpu_seconds;

struct Tally {
  std::string name;
  std::int64_t calls = 0, misses = 0, uncertified = 0;
  double seconds = 0;
};

// Runs the searches on one problem and counts. The solver uses the result of the last one.
template <class Y>
class Question {
 public:
  explicit Question(std::vector<Tally>& tallies) : tallies_(tallies) {}

  template <class Search, class O>
  void put(const Search& search, const O& oracle, LabelCache<Y>& cache) {
    const double start = cpu_seconds();
    results_.push_back(search(oracle, SlackRescaling{}, cache));
    Tally& tally = tallies_[results_.size() - 1];
    tally.seconds += cpu_seconds() - start;
    tally.calls += results_.back().oracle_calls;
  }
  SearchResult<Y> finish() {
    double best = 0;
    for (const auto& result : results_) best = std::max(best, result.value);
    for (std::size_t k = 0; k < results_.size(); ++k) {
      const auto& [y, value, upper_bound, calls] = results_[k];
      tallies_[k].misses += value < best * (1 - 1.001e-3) ? 1 : 0;
      tallies_[k].uncertified += upper_bound > value * (1 + 1.1e-3) ? 1 : 0;
    }
    return results_.back();
  }

 private:
  std::vector<Tally>& tallies_;
  std::vector<SearchResult<Y>> results_;
};

constexpr std::array kNames{"sarawagi-gupta",     "binary",  "bisecting",      "convex-hull",
                            "convex-hull, exact", "angular", "angular + cache"};

struct AllSearches {
  std::vector<Tally>* tallies;
  std::int64_t* questions;
  double slack = 0.0;

  SearchResult<LabelVector> operator()(const FieldOracle& oracle, const SlackRescaling&,
                                       LabelCache<LabelVector>& cache) const {
    Question<LabelVector> question(*tallies);
    LabelCache<LabelVector> none;
    question.put(SarawagiGuptaSearch{.slack = slack}, oracle, none);
    question.put(BinarySearch{}, oracle, none);
    question.put(BisectingSearch{.warm_start = false}, oracle, none);
    question.put(ConvexHullSearch{.max_bans = 0, .warm_start = false}, oracle, none);
    question.put(ConvexHullSearch{.warm_start = false}, oracle, none);
    question.put(AngularSearch{.use_cache = false}, oracle, none);
    question.put(AngularSearch{}, oracle, cache);
    ++*questions;
    return question.finish();
  }
};

constexpr std::array kRelaxedNames{"sarawagi-gupta",      "binary",      "bisecting",
                                   "convex-hull, corner", "convex-hull", "convex-hull + cache"};

// The relaxed oracle without mix(), so that only corners are found.
struct Corners {
  using Labelling = FieldShares;
  const RelaxedFieldOracle& oracle;
  Candidate<FieldShares> argmax(double w_m, double w_g) const { return oracle.argmax(w_m, w_g); }
  Candidate<FieldShares> truth() const { return oracle.truth(); }
};

struct AllRelaxedSearches {
  std::vector<Tally>* tallies;
  std::int64_t* questions;
  double slack = 0.0;

  SearchResult<FieldShares> operator()(const RelaxedFieldOracle& oracle, const SlackRescaling&,
                                       LabelCache<FieldShares>& cache) const {
    Question<FieldShares> question(*tallies);
    LabelCache<FieldShares> none;
    question.put(SarawagiGuptaSearch{.slack = slack}, oracle, none);
    question.put(BinarySearch{}, oracle, none);
    question.put(BisectingSearch{.warm_start = false}, oracle, none);
    question.put(ConvexHullSearch{.warm_start = false}, Corners{oracle}, none);
    question.put(ConvexHullSearch{.warm_start = false}, oracle, none);
    question.put(ConvexHullSearch{}, oracle, cache);
    ++*questions;
    return question.finish();
  }
};

template <class Searches, class Model>
void run(const Model& model, std::span<const char* const> names, double C, int max_rounds) {
  std::vector<Tally> tallies;
  for (const char* name : names) tallies.push_back({name});
  std::int64_t questions = 0;
  Executor executor(1);
  RunControl control;
  CuttingPlane solver(model, SlackRescaling{}, Searches{&tallies, &questions},
                      CuttingPlaneOptions{.C = C, .tolerance = 1e-2, .max_rounds = max_rounds},
                      executor, control);
  const StructuredFit fit = solver.run();
  fmt::print("{} examples, C {}: {} rounds, {} questions, gap {:.4f}, objective {:.4f}\n",
             model.num_examples(), C, fit.passes, questions, fit.relative_gap, fit.primal);
  fmt::print("{:<20} {:>8} {:>10} {:>8} {:>12}\n", "search", "queries", "cpu us", "missed",
             "uncertified");
  for (const Tally& t : tallies) {
    const auto n = static_cast<double>(questions);
    fmt::print("{:<20} {:>8.2f} {:>10.1f} {:>8.3f} {:>12.3f}\n", t.name,
               static_cast<double>(t.calls) / n, 1e6 * t.seconds / n,
               static_cast<double>(t.misses) / n, static_cast<double>(t.uncertified) / n);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool is_relaxed = argc > 5 && std::string_view(argv[argc - 1]) == "relaxed";
  if (is_relaxed) --argc;
  if (argc < 5) {
    fmt::print(stderr, "usage: {} TRAIN.svm LABELS EXAMPLES C [MAX_ROUNDS [MAX_NODES]] [relaxed]\n",
               argv[0]);
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

  const FieldModel model(X, labels, num_labels, {.max_nodes = max_nodes});
  if (is_relaxed) {
    run<AllRelaxedSearches>(RelaxedFieldModel(model), kRelaxedNames, C, max_rounds);
  } else {
    run<AllSearches>(model, kNames, C, max_rounds);
  }
  return 0;
}
