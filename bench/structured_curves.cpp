// Objective and test score of the solvers of slack rescaling on a pairwise field after each pass
// (Thesis, figures 4.7 and 4.8).
//
//   bench_structured_curves TRAIN.svm TEST.svm C ROWS CPU_SECONDS [SOLVER]
//
// ROWS: how many rows of TRAIN are used, from the first on. SOLVER: only solvers whose name begins
// with it. Prints one line per solver and pass: solver, passes, oracle calls per row, CPU seconds,
// objective, jaccard and instance F1 on TEST. Calls and seconds of the measurements do not count. A
// solver ends after the pass in which it has used CPU_SECONDS.

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "margrove/svmlight_reader.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "structured/angular.hpp"
#include "structured/bcfw.hpp"
#include "structured/convex_hull.hpp"
#include "structured/cutting_plane.hpp"
#include "structured/sgd.hpp"

namespace {

using namespace margrove;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class Search>
struct Counted {
  Search search;
  std::int64_t* calls;

  template <class O>
  SearchResult<LabelVector> operator()(const O& oracle, const SlackRescaling& psi,
                                       LabelCache<LabelVector>& cache) const {
    auto result = search(oracle, psi, cache);
    *calls += result.oracle_calls;
    return result;
  }
};

struct Task {
  CsrMatrix X, X_test;
  LabelSets labels, test_labels;
  std::uint32_t num_labels;
  double C, limit;
  std::string only;
};

class Recorder {
 public:
  Recorder(const Task& task, const FieldModel& model) : task_(task), model_(model) {}

  void start(std::string solver) {
    solver_ = std::move(solver);
    calls = 0;
    since_ = cpu_seconds();
  }
  // False once the time is used up.
  bool record(int passes, std::span<const float> w) {
    const double now = cpu_seconds(), used = now - since_;
    Executor executor(1);
    const double objective =
        structured_objective(model_, SlackRescaling{}, AngularSearch{}, task_.C, {w, 1.0}, executor)
            .value;
    double jaccard = 0, f1 = 0;
    FieldWorkspace workspace;
    for (std::size_t i = 0; i < task_.X_test.num_rows(); ++i) {
      score_field(task_.X_test.row(i), task_.X.num_columns(), task_.num_labels, {w, 1.0},
                  workspace);
      const LabelVector y = FieldOracle(workspace, {}, FieldOptions{}).decode();
      double both = 0, size = std::accumulate(y.begin(), y.end(), 0.0);
      for (const LabelId l : task_.test_labels[i]) {
        both += y[l];
        size += 1;
      }
      jaccard += size == 0 ? 1 : both / (size - both);
      f1 += size == 0 ? 1 : 2 * both / size;
    }
    const auto n = static_cast<double>(task_.X_test.num_rows());
    fmt::print("{}\t{}\t{:.3f}\t{:.3f}\t{:.5f}\t{:.4f}\t{:.4f}\n", solver_, passes,
               static_cast<double>(calls) / static_cast<double>(model_.num_examples()), used,
               objective, jaccard / n, f1 / n);
    std::fflush(stdout);
    since_ += cpu_seconds() - now;
    return used < task_.limit;
  }

  std::int64_t calls = 0;

 private:
  const Task& task_;
  const FieldModel& model_;
  std::string solver_;
  double since_ = 0;
};

void run_all(const Task& task) {
  const FieldModel model(task.X, task.labels, task.num_labels);
  Recorder recorder(task, model);
  Executor executor(1);
  const Counted<AngularSearch> angular{{}, &recorder.calls};
  const Counted<ConvexHullSearch> hull{{}, &recorder.calls};

  const auto is_wanted = [&](const std::string& name) { return name.starts_with(task.only); };
  const auto sgd = [&](const std::string& name, const auto& search) {
    if (!is_wanted(name)) return;
    recorder.start(name);
    RunControl control;
    Sgd solver(model, SlackRescaling{}, search, SgdOptions{.C = task.C}, executor, control);
    int passes = 0;
    do {
      solver.one_pass();
    } while (recorder.record(++passes, solver.weights()));
  };
  // Runs a solver that reports each pass to its control, where its weights can be read.
  const auto reporting = [&](const std::string& name, const auto& make) {
    if (!is_wanted(name)) return;
    recorder.start(name);
    std::function<bool(const Progress&)> report;
    RunControl control([&](const Progress& p) { return report(p); });
    auto solver = make(control);
    report = [&](const Progress& p) {
      return recorder.record(static_cast<int>(p.done), solver.weights());
    };
    solver.run();
  };
  const auto bcfw = [&](const std::string& name, const auto& search) {
    reporting(name, [&](RunControl& control) {
      return Bcfw(model, SlackRescaling{}, search, BcfwOptions{.C = task.C, .minibatch = 1},
                  executor, control);
    });
  };
  const auto cutting_plane = [&](const std::string& name, bool one_slack) {
    reporting(name, [&](RunControl& control) {
      return CuttingPlane(
          model, SlackRescaling{}, angular,
          CuttingPlaneOptions{.C = task.C, .max_rounds = 10000, .one_slack = one_slack}, executor,
          control);
    });
  };
  sgd("SGD, angular", angular);
  sgd("SGD, convex hull", hull);
  bcfw("BCFW, angular", angular);
  bcfw("BCFW, convex hull", hull);
  cutting_plane("cutting plane, angular", false);
  cutting_plane("cutting plane, one slack, angular", true);
}

LabelSets first_rows(const LabelSets& labels, std::size_t rows) {
  LabelSets kept;
  for (std::size_t i = 0; i < rows; ++i) {
    kept.append(std::vector<LabelId>(labels[i].begin(), labels[i].end()));
  }
  return kept;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: {} TRAIN.svm TEST.svm C ROWS CPU_SECONDS [SOLVER]\n", argv[0]);
    return 2;
  }
  try {
    const Dataset train = read_svmlight(argv[1]);
    SvmlightOptions same;
    same.num_features = train.X.num_columns();
    same.codec = &train.codec;
    const Dataset test = read_svmlight(argv[2], same);
    std::vector<std::uint32_t> rows(
        std::min<std::size_t>(train.X.num_rows(), std::strtoul(argv[4], nullptr, 10)));
    std::iota(rows.begin(), rows.end(), 0U);
    run_all({.X = with_intercept(select_rows(train.X, rows), 1.0),
             .X_test = with_intercept(test.X, 1.0),
             .labels = first_rows(train.labels, rows.size()),
             .test_labels = first_rows(test.labels, test.X.num_rows()),
             .num_labels = static_cast<std::uint32_t>(train.codec.size()),
             .C = std::atof(argv[3]),
             .limit = std::atof(argv[5]),
             .only = argc > 6 ? argv[6] : ""});
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 3;
  }
  return 0;
}
