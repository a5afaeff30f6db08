// Estimates of memory against peaks that are measured: what a process that plans and trains has
// resident at most (ru_maxrss), beyond the pages of the program's files and what it had when it
// began, with the data in place. Each case runs in a process of its own, forked from one that has
// freed what it does not need.
//
// A peak must be at most 1.25 times the estimate, and the estimate at most 3 times the peak, where
// 8 MB either way are left to the allocator and the threads' stacks.

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>

#include "base/large_arrays.hpp"
#include "base/random.hpp"
#include "files.hpp"
#include "methods/training.hpp"

namespace margrove {
namespace {

constexpr double kAllowance = 8e6;
constexpr double kMaxAbove = 1.25;  // peak, times the estimate
constexpr double kMaxBelow = 3;     // estimate, times the peak
constexpr int kThreads = 2;

struct Measured {
  double estimate = 0;
  double peak = 0;
  char parts[512] = "";
};

struct Resident {
  double own = 0;       // bytes
  double of_files = 0;  // the program and its libraries, as far as they have been touched
};

Resident resident() {
  std::ifstream file("/proc/self/statm");
  double total = 0, all = 0, shared = 0;
  file >> total >> all >> shared;
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {page * (all - shared), page * shared};
}

/// What a child process does: returns the estimate.
using Work = std::function<MemoryEstimate(Executor& executor)>;

/// The exit code of the child. The estimate is made by `work`, too, after or before its peak.
int work_and_report(const std::string& name, const Work& work, int pipe) {
  Measured measured;
  return_large_arrays();  // as the program does
  const double before = resident().own;
  try {
    Executor executor(kThreads);
    const MemoryEstimate estimate = work(executor);
    measured.estimate = static_cast<double>(estimate.total());
    estimate.to_text().copy(measured.parts, sizeof(measured.parts) - 1);
    measured.peak = -before - resident().of_files;  // the parent adds what was resident at most
    if (write(pipe, &measured, sizeof(measured)) != sizeof(measured)) return 2;
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    return 1;
  }
}

Measured measure(const std::string& name, const Work& work) {
  malloc_trim(0);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("pipe");
  const pid_t child = fork();
  if (child == 0) _exit(work_and_report(name, work, ends[1]));
  close(ends[1]);
  Measured measured;
  const bool has_report = read(ends[0], &measured, sizeof(measured)) == sizeof(measured);
  close(ends[0]);
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  EXPECT_TRUE(has_report && WIFEXITED(status) && WEXITSTATUS(status) == 0) << name;
  measured.peak += 1024.0 * static_cast<double>(usage.ru_maxrss);
  return measured;
}

void check(const std::string& name, const std::string& text, const Work& work) {
  const Measured m = measure(text, work);
  std::printf("%-16s %-50s estimate %6.1f MB, peak %6.1f MB: %s\n", name.c_str(), text.c_str(),
              m.estimate / 1e6, m.peak / 1e6, m.parts);
  EXPECT_LE(m.peak - kAllowance, kMaxAbove * m.estimate) << name << ": " << text;
  EXPECT_LE(m.estimate - kAllowance, kMaxBelow * m.peak) << name << ": " << text;
}

/// Plans and trains.
void check(const std::string& name, const std::string& method, const OptionValues& options,
           const TrainingSet& data) {
  std::string text = method;
  for (const auto& [option, value] : options) text += " " + option + "=" + value;
  check(name, text, [&](Executor& executor) {
    RunControl control;
    const auto run = find_method(method).start();
    set_options(run->options(), options);
    const Plan plan = run->plan(data, executor, control);
    const TrainResult result = plan.train(executor, control);
    require(result.predictor != nullptr, "there is no model");
    return plan.memory;
  });
}

// Data --------------------------------------------------------------------------------------------

struct Shape {
  const char* name;
  std::uint32_t rows, columns, nonzeros, labels;
  std::uint32_t labels_per_row = 1;
};

constexpr Shape kFewWideRows{"few wide rows", 400, 150'000, 300, 40};
constexpr Shape kManyLabels{"many labels", 6000, 3000, 25, 1000};
constexpr Shape kRatherManyLabels{"many labels", 2000, 2500, 20, 400};  // where passes are slow
constexpr Shape kManyRows{"many rows", 100'000, 300, 10, 12};

Shape with_sets(Shape shape) {
  shape.labels_per_row = 2;
  return shape;
}

std::string leaf_name(std::uint32_t label) { return "leaf" + std::to_string(label); }

/// Half of a row's features are typical of its labels, the others are chance.
Examples rows_of(const Shape& shape) {
  Random random(7);
  Examples raw;
  raw.source = shape.name;
  raw.X = CsrMatrix(shape.columns);
  for (std::uint32_t l = 0; l < shape.labels; ++l) raw.codec.add(leaf_name(l));
  const std::uint32_t topic = std::max(2 * shape.nonzeros, 8U);
  for (std::uint32_t i = 0; i < shape.rows; ++i) {
    std::vector<LabelId> labels;
    for (std::uint32_t k = 0; k < shape.labels_per_row; ++k) {
      labels.push_back(static_cast<LabelId>(random.below(shape.labels)));
    }
    raw.labels.append(labels);
    std::vector<FeatureId> columns;
    for (std::uint32_t k = 0; k < shape.nonzeros; ++k) {
      const bool is_typical = k % 2 == 0;
      const std::uint64_t begin = labels[k / 2 % labels.size()] * std::uint64_t{topic} * 7;
      const std::uint64_t column =
          is_typical ? begin + random.below(topic) : random.below(shape.columns);
      columns.push_back(static_cast<FeatureId>(column % shape.columns));
    }
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    raw.X.append_row(columns, std::vector<float>(columns.size(), 0.25F));
  }
  return raw;
}

/// Leaves in families of ten, these in families of ten, below one root. As a graph that is no tree,
/// every third leaf has a second parent.
Hierarchy hierarchy_of(const Shape& shape, bool is_tree) {
  Hierarchy hierarchy;
  const auto add_edge = [&](const std::string& parent, const std::string& child) {
    hierarchy.edges.push_back({hierarchy.codec.add(parent), hierarchy.codec.add(child)});
  };
  const std::uint32_t families = (shape.labels + 9) / 10;
  for (std::uint32_t f = 0; f < (families + 9) / 10; ++f) {
    add_edge("root", "group" + std::to_string(f));
  }
  for (std::uint32_t f = 0; f < families; ++f) {
    add_edge("group" + std::to_string(f / 10), "family" + std::to_string(f));
  }
  for (std::uint32_t l = 0; l < shape.labels; ++l) {
    add_edge("family" + std::to_string(l / 10), leaf_name(l));
    if (!is_tree && l % 3 == 0 && families > 1) {
      add_edge("family" + std::to_string((l / 10 + 1) % families), leaf_name(l));
    }
  }
  return hierarchy;
}

/// Trains with each of the options on the rows of a shape.
void check_rows(const std::string& method, const std::vector<Shape>& shapes,
                const std::vector<OptionValues>& cases, bool is_tree = true) {
  for (const Shape& shape : shapes) {
    const Hierarchy hierarchy = hierarchy_of(shape, is_tree);
    const PreparedRows prepared = prepare_rows(rows_of(shape), &hierarchy, {});
    for (const OptionValues& options : cases) {
      check(shape.name, method, options, prepared.training_set());
    }
  }
}

TEST(Memory, kernel_features) {
  for (const Shape& shape : {kFewWideRows, kManyLabels, kManyRows}) {
    const Examples rows = rows_of(shape);
    for (const char* text : {"nystroem:1500", "nystroem:300", "fourier:1000"}) {
      const auto choice = KernelFeatures::Choice::parse(text);
      if (shape.rows > 50'000 && choice.size > 300) continue;  // a gigabyte
      check(shape.name, text, [&](Executor& executor) {
        const KernelFeatures features =
            KernelFeatures::fit(rows.X, choice, 0, 0, executor, nullptr);
        const CsrMatrix X = features.apply(rows.X, executor, nullptr);
        return kernel_features_memory(choice, rows.X);
      });
    }
  }
}

/// The sum of four Gaussian kernels of all columns.
LearnedKernel learned_kernel(std::uint32_t num_columns) {
  LearnedKernel kernel;
  for (const double width : {1.0, 2.0, 4.0, 8.0}) {
    FittedKernel each;
    each.spec.width = width;
    each.spec.width_in_medians = false;
    each.spec.columns = {{0, num_columns}};
    kernel.paths.push_back({static_cast<std::uint32_t>(kernel.kernels.size())});
    kernel.weights.push_back(0.25);
    kernel.kernels.push_back(std::move(each));
  }
  return kernel;
}

TEST(Memory, features_of_learned_kernels) {
  for (const Shape& shape : {kFewWideRows, kManyLabels, kManyRows}) {
    const Examples rows = rows_of(shape);
    const LearnedKernel kernel = learned_kernel(shape.columns);
    check(shape.name, "learned", [&](Executor& executor) {
      const KernelFeatures features =
          KernelFeatures::fit(rows.X, kernel, shape.columns, 300, 0, executor, nullptr);
      const CsrMatrix X = features.apply(rows.X, executor, nullptr);
      return kernel_features_memory(KernelFeatures::Choice::parse("nystroem:300"), rows.X, &kernel,
                                    executor.size());
    });
  }
}

const OptionValues kLoose{{"tolerance", "0.1"}, {"max_passes", "5"}};

OptionValues loosely(const OptionValues& options) {
  OptionValues all = kLoose;
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

const std::vector<Shape> kShapes{kFewWideRows, kManyLabels, kManyRows};
const std::vector<Shape> kShapesWithSets{with_sets(kFewWideRows), with_sets(kRatherManyLabels),
                                         with_sets(kManyRows)};

// One-vs-rest and recursive regularisation --------------------------------------------------------

TEST(Memory, flat_svm) {
  check_rows("flat-svm", kShapes, {loosely({}), loosely({{"loss", "squared-hinge"}})});
  check_rows("flat-svm", kShapesWithSets, {loosely({})});
}

TEST(Memory, flat_svm_by_crammer_and_singer) {
  check_rows("flat-svm", kShapes, {loosely({{"multiclass", "crammer-singer"}})});
}

TEST(Memory, flat_lr) {
  check_rows("flat-lr", kShapes, {loosely({}), loosely({{"multiclass", "softmax"}})});
}

TEST(Memory, states_of_warm_starts) {
  for (const std::string method : {"flat-svm", "flat-lr"}) {
    ASSERT_TRUE(find_method(method).warm_starts);
    for (const Shape& shape : {kManyLabels, with_sets(kRatherManyLabels)}) {
      const PreparedRows prepared = prepare_rows(rows_of(shape), nullptr, {});
      TrainingSet data = prepared.training_set();
      data.continuation.keep = true;
      check(shape.name, method, loosely({}), data);
    }
  }
}

TEST(Memory, hr_svm) {
  check_rows("hr-svm", kShapes, {loosely({})});
  check_rows("hr-svm", {kFewWideRows, kRatherManyLabels}, {loosely({{"solver", "alternating"}})});
}

TEST(Memory, hr_svm_on_graphs) {
  check_rows("hr-svm", {kFewWideRows, kRatherManyLabels},
             {loosely({}), loosely({{"dag", "graph"}})},
             /*is_tree=*/false);
}

TEST(Memory, hr_lr) {
  check_rows("hr-lr", kShapes, {loosely({}), loosely({{"multiclass", "softmax"}})});
}

TEST(Memory, top_down_svm) {
  check_rows("top-down-svm", kShapes, {loosely({}), loosely({{"beam", "3"}})});
  check_rows("top-down-svm", {with_sets(kFewWideRows)}, {loosely({})});
  check_rows("top-down-svm", {kFewWideRows, with_sets(kRatherManyLabels)},
             {loosely({}), loosely({{"beam", "3"}})}, /*is_tree=*/false);
}

TEST(Memory, level_svm) {
  check_rows("level-svm", kShapes, {loosely({}), loosely({{"multiclass", "ovr"}})});
  check_rows("level-svm", kShapesWithSets, {loosely({})});
}

TEST(Memory, level_svm_with_a_stack) {
  check_rows("level-svm", kShapes,
             {loosely({{"stack", "nhsvm"}}), loosely({{"stack", "nhsvm,flat-lr"}})});
  check_rows("level-svm", {kFewWideRows, kManyLabels}, {loosely({{"stack", "nhsvm"}})},
             /*is_tree=*/false);
}

// Structured SVMs over paths and label sets -------------------------------------------------------

TEST(Memory, hsvm) { check_rows("hsvm", kShapes, {loosely({})}); }

TEST(Memory, nhsvm) {
  check_rows("nhsvm", kShapes, {loosely({}), {{"solver", "sgd"}, {"epochs", "2"}}});
  check_rows("nhsvm", {kFewWideRows, kManyLabels}, {loosely({})}, /*is_tree=*/false);
}

TEST(Memory, nhsvm_on_label_sets) {
  check_rows("nhsvm", kShapesWithSets, {{{"tolerance", "0.1"}, {"max_passes", "1"}}});
}

TEST(Memory, shared_svm) {
  check_rows("shared-svm", kShapes,
             {{{"tolerance", "0.3"}, {"max_rounds", "2"}, {"max_passes", "3"}},
              {{"solver", "sgd"}, {"max_rounds", "2"}, {"epochs", "2"}}});
}

// Kernels -----------------------------------------------------------------------------------------

TEST(Memory, kernel_methods) {
  const std::vector<Shape> shapes{{"few wide rows", 600, 20'000, 200, 3},
                                  {"many labels", 1200, 200, 10, 25},
                                  {"many rows", 2500, 20, 10, 2}};
  for (const Method& method : methods()) {
    if (!method.start()->options().has("network")) continue;
    check_rows(method.name, shapes,
               {{{"widths", "1,2,4"}, {"tolerance", "0.5"}, {"max_rounds", "2"}}});
  }
}

TEST(Memory, kernel_ridge) {
  const std::vector<Shape> shapes{{"few wide rows", 600, 20'000, 200, 3},
                                  with_sets({"many labels", 1200, 200, 10, 400}),
                                  {"many rows", 2500, 20, 10, 2}};
  check_rows("kernel-ridge", shapes,
             {{{"widths", "1,2"}}, {{"widths", "1"}, {"tuning_rows", "500"}}});
}

TEST(Memory, every_method_of_rows) {
  for (const Method& method : methods()) {
    if (method.read_examples) continue;
    const auto run = method.start();
    OptionValues options;
    for (const auto& [name, value] : kLoose) {
      if (run->options().has(name)) options.emplace_back(name, value);
    }
    check_rows(method.name, {{"few rows", 400, 5000, 50, 12}}, {options});
  }
}

// Structured outputs ------------------------------------------------------------------------------

TEST(Memory, structured_label_sets) {
  const std::vector<Shape> shapes{with_sets({"few wide rows", 300, 60'000, 200, 20}),
                                  with_sets({"many labels", 800, 500, 10, 80}),
                                  with_sets({"many rows", 15'000, 100, 10, 6})};
  for (const char* model : {"multilabel-field", "hierarchy"}) {
    check_rows("structured", shapes, {{{"model", model}, {"max_passes", "2"}}});
  }
}

void check_file(const std::string& name, const OptionValues& options, const std::string& text) {
  const testing::ScratchFolder folder;
  std::ofstream(folder / "examples") << text;
  const auto run = find_method("structured").start();
  set_options(run->options(), options);
  const auto examples =
      find_method("structured").read_examples({folder / "examples"}, run->options(), nullptr);
  TrainingSet data;
  data.examples = examples.get();
  check(name, "structured", options, data);
}

/// Sentences of ten words, word<TAB>tag.
std::string tagged_sentences(std::uint32_t sentences, std::uint32_t words, std::uint32_t tags) {
  Random random(3);
  std::string text;
  for (std::uint32_t i = 0; i < sentences; ++i) {
    for (int k = 0; k < 10; ++k) {
      const auto word = static_cast<std::uint32_t>(random.below(words));
      text += concat("word", word, " TAG", word % tags, "\n");
    }
    text += "\n";
  }
  return text;
}

TEST(Memory, structured_chains) {
  const OptionValues options{{"model", "chain"}, {"max_passes", "2"}};
  check_file("many words", options, tagged_sentences(3000, 20'000, 8));
  check_file("many tags", options, tagged_sentences(2000, 2000, 40));
  check_file("many sentences", options, tagged_sentences(10'000, 500, 6));
}

/// Every word but the first hangs on the one before it.
std::string parsed_sentences(std::uint32_t sentences, std::uint32_t words) {
  Random random(4);
  std::string text;
  for (std::uint32_t i = 0; i < sentences; ++i) {
    for (int k = 1; k <= 8; ++k) {
      const auto word = static_cast<std::uint32_t>(random.below(words));
      text += concat(k, "\tw", word, "\tw", word, "\tX", word % 9, "\t_\t_\t", k - 1, "\t",
                     k == 1 ? "root" : "dep", "\t_\t_\n");
    }
    text += "\n";
  }
  return text;
}

TEST(Memory, structured_dependency_trees) {
  const auto options = [](const char* bits) {
    return OptionValues{{"model", "dependency"}, {"max_passes", "2"}, {"hash_bits", bits}};
  };
  check_file("many weights", options("21"), parsed_sentences(300, 1000));
  check_file("few weights", options("14"), parsed_sentences(1000, 1000));
  check_file("many sentences", options("18"), parsed_sentences(3000, 5000));
}

}  // namespace
}  // namespace margrove
