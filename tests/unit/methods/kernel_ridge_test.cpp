#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <cmath>

#include "../kernel/testing.hpp"
#include "margrove/errors.hpp"
#include "methods/registry.hpp"
#include "model/ridge_predictor.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

constexpr std::size_t kRows = 90;

/// A tree 0 -> {1, 2}, 1 -> {3, 4}, 2 -> {5}, whose rows have one or several of 2 ... 5.
struct Data {
  CsrMatrix X;
  LabelSets labels;
  LabelCodec codec;
  LabelGraph graph;
  TrainingSet set() const {
    TrainingSet data;
    data.X = X;
    data.labels = &labels;
    data.codec = &codec;
    data.hierarchy = &graph;
    return data;
  }
};

Data data_of(bool several, std::uint64_t seed) {
  auto rows = random_rows(kRows, 6, 4, seed);
  Data data{std::move(rows.X), {}, {}, {}};
  for (int n = 0; n < 6; ++n) data.codec.add(concat("node", n));
  const std::array<LabelEdge, 5> edges{{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}}};
  data.graph = LabelGraph::build(6, edges);
  for (std::size_t i = 0; i < kRows; ++i) {
    std::vector<LabelId> set{rows.class_of[i] + 2};
    if (several && i % 3 == 0) set.push_back((rows.class_of[i] + 1) % 4 + 2);
    data.labels.append(set);
  }
  return data;
}

std::unique_ptr<Predictor> train(const Data& data, const OptionValues& options, int threads = 1) {
  const auto run = find_method("kernel-ridge").start();
  set_options(run->options(), options);
  Executor executor(threads);
  RunControl control;
  return run->train(data.set(), executor, control).predictor;
}

std::vector<float> scores_of(const Predictor& predictor, const CsrView& X) {
  std::vector<float> scores(X.num_rows() * predictor.rows()->num_labels());
  predictor.rows()->scores(X, 0, X.num_rows(), scores);
  return scores;
}

double squared_distance(const SparseRow& x, const SparseRow& z) {
  std::vector<double> difference(6, 0.0);
  for (std::size_t k = 0; k < x.size(); ++k) difference[x.columns[k]] += x.values[k];
  for (std::size_t k = 0; k < z.size(); ++k) difference[z.columns[k]] -= z.values[k];
  double sum = 0;
  for (const double each : difference) sum += each * each;
  return sum;
}

TEST(KernelRidgeMethod, scores_solve_the_ridge_system_with_a_free_intercept) {
  const Data data = data_of(true, 3);
  const Data fresh = data_of(true, 4);
  const auto predictor =
      train(data, {{"kernel", "gaussian"}, {"widths", "1"}, {"lambda", "0.7"}, {"sharing", "0"}});
  std::vector<double> distances;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      distances.push_back(std::sqrt(squared_distance(data.X.view().row(i), data.X.view().row(j))));
    }
  }
  std::ranges::nth_element(distances,
                           distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2));
  const double width = distances[distances.size() / 2];
  const auto kernel = [&](const SparseRow& x, const SparseRow& z) {
    return std::exp(-squared_distance(x, z) / (2 * width * width));
  };
  const auto n = static_cast<Eigen::Index>(kRows);
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(n + 1, n + 1);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n + 1);  // of node 5, a leaf
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto a = static_cast<std::size_t>(i);
    for (Eigen::Index j = 0; j < n; ++j) {
      system(i, j) = kernel(data.X.view().row(a), data.X.view().row(static_cast<std::size_t>(j)));
    }
    system(i, i) += 0.7;
    system(i, n) = system(n, i) = 1;
    right[i] = std::ranges::count(data.labels[a], 5U) > 0 ? 1 : 0;
  }
  const Eigen::VectorXd solution = system.fullPivLu().solve(right);
  const auto scores = scores_of(*predictor, fresh.X);
  for (std::size_t r = 0; r < kRows; ++r) {
    double expected = solution[n];
    for (std::size_t i = 0; i < kRows; ++i) {
      expected += solution[static_cast<Eigen::Index>(i)] *
                  kernel(fresh.X.view().row(r), data.X.view().row(i));
    }
    EXPECT_NEAR(scores[r * 6 + 5], expected, 1e-4);
  }
}

TEST(KernelRidgeMethod, parents_score_at_least_their_children) {
  const Data data = data_of(true, 5);
  const auto predictor = train(data, {{"widths", "1"}});
  const auto scores = scores_of(*predictor, data_of(true, 6).X);
  for (std::size_t r = 0; r < kRows; ++r) {
    for (NodeId n = 1; n < 6; ++n) {
      for (const NodeId parent : data.graph.parents(n)) {
        EXPECT_GE(scores[r * 6 + parent], scores[r * 6 + n]);
      }
    }
  }
}

TEST(KernelRidgeMethod, rows_of_one_label_get_one_and_others_get_sets_of_lowest_nodes) {
  Executor executor(2);
  for (const bool several : {false, true}) {
    const Data data = data_of(several, 7);
    const auto predictor = train(data, {{"widths", "1"}});
    const LabelSets sets = predictor->rows()->predict(data.X, executor);
    std::size_t right = 0, most = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      right += std::ranges::equal(sets[i], data.labels[i]) ? 1 : 0;
      most = std::max(most, sets[i].size());
      ASSERT_GE(sets[i].size(), 1U);
      for (const LabelId label : sets[i]) {
        for (const NodeId child : data.graph.children(label)) {
          EXPECT_EQ(std::ranges::count(sets[i], child), 0);
        }
      }
    }
    EXPECT_EQ(most > 1, several);
    if (!several) {
      EXPECT_GT(right, kRows / 2);
    }
  }
}

TEST(KernelRidgeMethod, any_number_of_threads_gives_the_same_bits_and_files_keep_them) {
  const Data data = data_of(true, 8);
  for (const char* tuning_rows : {"3000", "50"}) {
    const OptionValues options{{"widths", "0.5,1"}, {"tuning_rows", tuning_rows}};
    const auto predictor = train(data, options);
    const auto expected = scores_of(*predictor, data.X);
    EXPECT_EQ(scores_of(*train(data, options, 3), data.X), expected);
    TensorMap tensors;
    predictor->save(tensors);
    const auto loaded = load_predictor("kernel-ridge", tensors, 6);
    EXPECT_EQ(scores_of(*loaded, data.X), expected);
    Executor executor(1);
    EXPECT_EQ(loaded->rows()->predict(data.X, executor),
              predictor->rows()->predict(data.X, executor));
  }
}

TEST(KernelRidgeMethod, rankings_begin_with_labels_that_rows_have) {
  Executor executor(2);
  for (const bool several : {false, true}) {
    const Data data = data_of(several, 12);
    const auto predictor = train(data, {{"widths", "1"}});
    const RankedLabels ranked = predictor->rows()->top(data.X, 6, executor);
    const LabelSets sets = predictor->rows()->predict(data.X, executor);
    std::size_t right = 0;
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto labels =
          std::span(ranked.labels)
              .subspan(ranked.pointers[i], ranked.pointers[i + 1] - ranked.pointers[i]);
      EXPECT_THAT(labels, ::testing::UnorderedElementsAre(2, 3, 4, 5));  // 0 and 1 are no labels
      right += std::ranges::count(data.labels[i], labels.front()) > 0 ? 1 : 0;
      if (!several) {
        EXPECT_EQ(labels.front(), sets[i].front());
      }
    }
    EXPECT_GT(right, kRows / 2);
  }
}

TEST(KernelRidgeMethod, without_time_there_is_a_model_of_means) {
  const Data data = data_of(true, 13);
  const auto run = find_method("kernel-ridge").start();
  Executor executor(1);
  RunControl control;
  control.interrupt();
  const TrainResult result = run->train(data.set(), executor, control);
  EXPECT_EQ(result.report.stop, Stop::interrupted);
  EXPECT_TRUE(std::isnan(result.report.primal));
  double mean = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    mean += std::ranges::count(data.labels[i], 5U) > 0 ? 1 : 0;
  }
  const auto scores = scores_of(*result.predictor, data.X);
  for (std::size_t r = 0; r < kRows; ++r) EXPECT_NEAR(scores[r * 6 + 5], mean / kRows, 1e-6);
}

TEST(KernelRidgeMethod, each_stop_leaves_a_model_that_can_be_saved) {
  const Data data = data_of(true, 14);
  for (const int reports : {1, 2}) {
    const auto run = find_method("kernel-ridge").start();
    set_options(run->options(), OptionValues{{"tuning_rows", "60"}});
    Executor executor(1);
    int seen = 0;
    RunControl control([&](const Progress&) { return ++seen < reports; });
    const TrainResult result = run->train(data.set(), executor, control);
    EXPECT_EQ(result.report.stop, Stop::interrupted);
    TensorMap tensors;
    result.predictor->save(tensors);
    EXPECT_EQ(scores_of(*load_predictor("kernel-ridge", tensors, 6), data.X),
              scores_of(*result.predictor, data.X));
  }
}

TEST(KernelRidgeMethod, an_explanation_adds_up_to_the_score_of_a_leaf) {
  const Data data = data_of(true, 9);
  const auto predictor = train(data, {{"widths", "1"}});
  const auto scores = scores_of(*predictor, data.X);
  const Explanation explanation = predictor->rows()->explain(data.X.view().row(4), 3, 5);
  EXPECT_NEAR(explanation.score, scores[4 * 6 + 3], 1e-5);
  EXPECT_EQ(explanation.sources.front().strongest.size(), 5U);
}

TEST(KernelRidgeMethod, a_damaged_model_names_what_is_wrong) {
  const Data data = data_of(true, 10);
  const auto predictor = train(data, {{"widths", "1"}, {"kernel", "laplacian"}});
  TensorMap tensors;
  predictor->save(tensors);
  const std::vector<std::string> types{"linear"};
  tensors.put_strings("kernel-ridge.types", types);
  EXPECT_THAT([&] { load_predictor("kernel-ridge", tensors, 6); },
              ::testing::ThrowsMessage<ModelFileError>(HasSubstr("kernel of distances")));
}

TEST(KernelRidgeMethod, more_rows_than_the_limit_are_fitted_by_landmarks) {
  const Data data = data_of(true, 11);
  const Data fresh = data_of(true, 12);
  const OptionValues options{{"widths", "1"}, {"lambda", "0.5"}};
  const auto with = [&](OptionValues others) {
    others.insert(others.end(), options.begin(), options.end());
    return scores_of(*train(data, others), fresh.X);
  };
  const auto exact = with({});
  const auto all = with({{"max_rows", "89"}, {"landmarks", "90"}});
  const auto some = with({{"max_rows", "80"}, {"landmarks", "40"}});
  double far = 0, farther = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    far = std::max(far, std::abs(static_cast<double>(all[k] - exact[k])));
    farther = std::max(farther, std::abs(static_cast<double>(some[k] - exact[k])));
  }
  // The width is that of the median of the tuning rows, one row less than all.
  EXPECT_LE(far, 0.02);
  EXPECT_GT(farther, far);
  EXPECT_LE(farther, 0.3);
}

TEST(KernelRidgeMethod, keeps_landmarks_only) {
  const Data data = data_of(true, 11);
  const auto predictor = train(data, {{"max_rows", "80"}, {"landmarks", "25"}});
  const auto facts = predictor->facts();
  EXPECT_TRUE(std::ranges::any_of(facts, [](const Fact& fact) {
    return fact.name == "training rows kept" && fact.value == "25";
  }));
}

TEST(KernelRidgeMethod, wrong_widths_throw) {
  const Data data = data_of(true, 11);
  EXPECT_THAT(
      [&] {
        train(data, {{"widths", "1,-2"}});
      },
      ::testing::ThrowsMessage<InvalidOption>(HasSubstr("numbers > 0 with commas")));
}

}  // namespace
}  // namespace margrove
