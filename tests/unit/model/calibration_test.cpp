#include "model/calibration.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;

/// Scores are the row's features, a label each; the last label is never predicted.
class Identity final : public RowPredictor {
 public:
  enum class Answer { label, set, set_of_node_estimates };
  explicit Identity(std::uint32_t num_labels, Answer answer = Answer::label)
      : num_labels_(num_labels), answer_(answer) {}
  std::string_view kind() const override { return "identity"; }
  void save(TensorMap&) const override {}
  std::vector<Fact> facts() const override { return {}; }
  std::uint32_t num_features() const override { return num_labels_ - 1; }
  std::uint32_t num_labels() const override { return num_labels_; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override {
    for (std::size_t i = begin; i < end; ++i) {
      float* row = scores.data() + (i - begin) * num_labels_;
      std::fill(row, row + num_labels_, 0.0F);
      const SparseRow x = X.row(i);
      for (std::size_t k = 0; k < x.size(); ++k) row[x.columns[k]] = x.values[k];
      row[num_labels_ - 1] = -std::numeric_limits<float>::infinity();
    }
  }
  LabelSets predict(const CsrView&, Executor&) const override { return {}; }
  bool gives_one_label() const override { return answer_ == Answer::label; }
  bool estimates_nodes() const override { return answer_ == Answer::set_of_node_estimates; }

 private:
  std::uint32_t num_labels_;
  Answer answer_;
};

/// Rows of normal scores whose labels are drawn from their softmax at a temperature.
struct Drawn {
  CsrMatrix X{3};
  LabelSets truth;
};
Drawn draw(std::size_t num_rows, double temperature, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::int64_t> pointers{0};
  std::vector<FeatureId> columns;
  std::vector<float> values;
  LabelSets truth;
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<float> scores(4, -std::numeric_limits<float>::infinity());
    for (FeatureId j = 0; j < 3; ++j) {
      scores[j] = static_cast<float>(6 * random.uniform() - 3);
      columns.push_back(j);
      values.push_back(scores[j]);
    }
    pointers.push_back(static_cast<std::int64_t>(columns.size()));
    std::vector<double> p(4);
    softmax(scores, temperature, p);
    double u = random.uniform();
    LabelId label = 0;
    while (label < 2 && u >= p[label]) u -= p[label++];
    truth.append(std::vector{label});
  }
  return {CsrMatrix(3, std::move(pointers), std::move(columns), std::move(values)),
          std::move(truth)};
}

const LabelGraph kFlat = LabelGraph::flat(4);

Calibration calibrated(const Identity& predictor, const LabelGraph& hierarchy, const Drawn& drawn,
                       Executor& executor, std::span<const double> weights = {}) {
  RunControl control;
  return fit_calibration(predictor, hierarchy, {drawn.X, drawn.truth, weights}, executor, control);
}

/// The rows i, in this order.
Drawn rows_of(const Drawn& drawn, std::span<const std::uint32_t> rows) {
  return {select_rows(drawn.X, rows), select_rows(drawn.truth, rows)};
}

TEST(Calibration, finds_the_temperature_that_drew_the_labels) {
  const Identity predictor(4);
  Executor executor(1);
  for (const double temperature : {0.3, 1.0, 2.5}) {
    const Drawn drawn = draw(20000, temperature, 5);
    const Calibration fitted = calibrated(predictor, kFlat, drawn, executor);
    EXPECT_NEAR(fitted.temperature, temperature, 0.05 * temperature);
    EXPECT_EQ(fitted.num_rows, 20000);
    EXPECT_LT(fitted.error, 0.02);
    if (temperature != 1) {
      EXPECT_GT(fitted.error_before, 3 * fitted.error);
    }
  }
}

TEST(Calibration, has_the_same_bits_on_any_number_of_threads) {
  const Identity predictor(4);
  const Drawn drawn = draw(500, 0.7, 6);
  Executor one(1);
  const Calibration expected = calibrated(predictor, kFlat, drawn, one);
  for (const int threads : {2, 5}) {
    Executor executor(threads);
    const Calibration fitted = calibrated(predictor, kFlat, drawn, executor);
    EXPECT_EQ(fitted.temperature, expected.temperature);
    EXPECT_EQ(fitted.error, expected.error);
  }
}

TEST(Calibration, without_usable_rows_throws) {
  const Identity predictor(4);
  Executor executor(1);
  Drawn drawn = draw(3, 1, 1);
  drawn.truth = {};
  drawn.truth.append(std::vector<LabelId>{3});     // never predicted
  drawn.truth.append(std::vector<LabelId>{0, 1});  // two labels
  drawn.truth.append(std::vector<LabelId>{0});
  try {
    calibrated(predictor, kFlat, drawn, executor);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("1 held-out rows have one label that the model knows, but "
                                        "at least 2 must"));
  }
}

/// Rows of three scores, each of whose labels is drawn by itself: log odds s / temperature + shift.
Drawn draw_sets(std::size_t num_rows, double temperature, double shift, std::uint64_t seed) {
  Random random(seed);
  Drawn drawn;
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 3; ++l) {
      scores.push_back(static_cast<float>(6 * random.uniform() - 3));
      const double p = 1 / (1 + std::exp(-(scores[l] / temperature + shift)));
      if (random.uniform() < p) set.push_back(l);
    }
    drawn.X.append_row(std::vector<FeatureId>{0, 1, 2}, scores);
    drawn.truth.append(set);
  }
  return drawn;
}

TEST(Calibration, of_label_sets_finds_the_temperature_and_the_shift_that_drew_them) {
  const Identity predictor(4, Identity::Answer::set);
  Executor one(1), three(3);
  for (const auto& [temperature, shift] : {std::pair{0.5, -2.0}, {1.0, 0.0}, {2.5, 0.7}}) {
    const Drawn drawn = draw_sets(20000, temperature, shift, 5);
    const Calibration fitted = calibrated(predictor, kFlat, drawn, one);
    EXPECT_NEAR(fitted.temperature, temperature, 0.05 * temperature);
    EXPECT_NEAR(fitted.shift, shift, 0.05);
    EXPECT_EQ(fitted.num_rows, 20000);
    EXPECT_LT(fitted.error, 0.02);
    if (shift != 0) {
      EXPECT_GT(fitted.error_before, 2 * fitted.error);
    }
    const Calibration same = calibrated(predictor, kFlat, drawn, three);
    EXPECT_EQ(fitted.temperature, same.temperature);
    EXPECT_EQ(fitted.shift, same.shift);
    EXPECT_EQ(fitted.error, same.error);
  }
}

/// The negative log-likelihood that the fit minimises, with its smoothed targets.
double likelihood(const Drawn& drawn, double temperature, double shift) {
  double with = 0, sum = 0;
  for (std::size_t i = 0; i < drawn.truth.num_rows(); ++i) {
    with += static_cast<double>(drawn.truth[i].size());
  }
  const double without = 3.0 * static_cast<double>(drawn.truth.num_rows()) - with;
  for (std::size_t i = 0; i < drawn.truth.num_rows(); ++i) {
    for (LabelId l = 0; l < 3; ++l) {
      const bool has = std::ranges::count(drawn.truth[i], l) > 0;
      const double z = drawn.X.view().row(i).values[l] / temperature + shift;
      sum += std::log1p(std::exp(z)) - (has ? (with + 1) / (with + 2) : 1 / (without + 2)) * z;
    }
  }
  return sum;
}

TEST(Calibration, of_label_sets_is_the_most_likely_one) {
  const Identity predictor(4, Identity::Answer::set);
  for (const std::uint64_t seed : {1, 2, 3}) {
    const Drawn drawn = draw_sets(40, 0.5, -1, seed);
    const Calibration fitted = calibrated(predictor, kFlat, drawn, Executor::serial());
    const double least = likelihood(drawn, fitted.temperature, fitted.shift);
    for (const double step : {-0.01, 0.01}) {
      EXPECT_GT(likelihood(drawn, fitted.temperature + step, fitted.shift), least);
      EXPECT_GT(likelihood(drawn, fitted.temperature, fitted.shift + step), least);
    }
  }
}

TEST(Calibration, of_label_sets_is_finite_and_keeps_the_order_of_scores) {
  const Identity predictor(4, Identity::Answer::set);
  for (const bool is_reversed : {false, true}) {
    Drawn drawn;
    for (int i = 0; i < 20; ++i) {
      drawn.X.append_row(std::vector<FeatureId>{0, 1, 2}, std::vector<float>{5, -5, -6});
      drawn.truth.append(is_reversed ? std::vector<LabelId>{1, 2} : std::vector<LabelId>{0});
    }
    const Calibration fitted = calibrated(predictor, kFlat, drawn, Executor::serial());
    EXPECT_GT(fitted.temperature, 0);
    EXPECT_LE(fitted.temperature, 1e4);
    EXPECT_TRUE(std::isfinite(fitted.shift));
  }
}

/// Fits in which row i has the weight 0, 1 or 2, and in which it occurs as often.
void expect_weights_are_counts(const Identity& predictor, const Drawn& drawn) {
  std::vector<double> weights;
  std::vector<std::uint32_t> repeated;
  for (std::uint32_t i = 0; i < drawn.truth.num_rows(); ++i) {
    weights.push_back(i % 3);
    repeated.insert(repeated.end(), i % 3, i);
  }
  Executor executor(2);
  const Calibration weighted = calibrated(predictor, kFlat, drawn, executor, weights);
  const Calibration same = calibrated(predictor, kFlat, rows_of(drawn, repeated), executor);
  EXPECT_NEAR(weighted.temperature, same.temperature, 1e-6 * same.temperature);
  EXPECT_NEAR(weighted.shift, same.shift, 1e-6);
  EXPECT_NEAR(weighted.error_before, same.error_before, 1e-9);
  EXPECT_EQ(weighted.num_rows, 200);  // those that have a weight
  const Calibration unweighted = calibrated(predictor, kFlat, drawn, executor);
  EXPECT_GT(std::abs(weighted.temperature - unweighted.temperature), 1e-4);
  const std::vector<double> ones(drawn.truth.num_rows(), 1.0);
  EXPECT_EQ(calibrated(predictor, kFlat, drawn, executor, ones).error, unweighted.error);
}

TEST(Calibration, counts_a_row_of_weight_two_twice) {
  expect_weights_are_counts(Identity(4), draw(300, 0.7, 9));
  expect_weights_are_counts(Identity(4, Identity::Answer::set), draw_sets(300, 0.7, -1, 9));
}

TEST(Calibration, needs_a_weight_for_each_row) {
  const Drawn drawn = draw(5, 1, 1);
  const std::vector<double> weights(4, 1.0);
  try {
    calibrated(Identity(4), kFlat, drawn, Executor::serial(), weights);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("there are 4 row weights, but must be 5"));
  }
}

/// A clock that a second passes on with each look.
double counted_seconds() {
  static std::atomic<int> looks = 0;
  return ++looks;
}

/// Passes over the rows until the control ends the fit, if it does within so many looks at it.
void expect_ends_within(const Identity& predictor, const Drawn& drawn, double looks) {
  std::int64_t passes = 0;
  RunControl control(
      [&](const Progress& progress) {
        EXPECT_EQ(progress.stage, "calibration");
        passes = progress.done;
        return true;
      },
      looks, &counted_seconds);
  EXPECT_THROW(
      fit_calibration(predictor, kFlat, {drawn.X, drawn.truth}, Executor::serial(), control),
      OutOfTime);
  EXPECT_EQ(control.stop_reason(), Stop::time_limit);
  EXPECT_LE(static_cast<double>(passes), looks);
}

TEST(Calibration, ends_at_a_time_limit_and_where_it_is_interrupted) {
  for (const double looks : {0.5, 3.0, 20.0}) {
    expect_ends_within(Identity(4), draw(1000, 0.7, 3), looks);
    expect_ends_within(Identity(4, Identity::Answer::set), draw_sets(1000, 0.7, 0, 3), looks);
  }
  const Drawn drawn = draw(1000, 0.7, 3);
  int reports = 0;
  RunControl control([&](const Progress&) { return ++reports < 3; });
  EXPECT_THROW(
      fit_calibration(Identity(4), kFlat, {drawn.X, drawn.truth}, Executor::serial(), control),
      OutOfTime);
  EXPECT_EQ(reports, 3);
}

TEST(Calibration, of_node_estimates_counts_the_ancestors_of_labels) {
  // Estimates of the root, a node below it and a leaf of this, each too small by the same factor
  // of the odds.
  const Identity predictor(4, Identity::Answer::set_of_node_estimates);
  const LabelGraph chain = LabelGraph::build(4, std::vector<LabelEdge>{{0, 1}, {1, 2}});
  Random random(8);
  Drawn drawn;
  for (int i = 0; i < 20000; ++i) {
    const double u = random.uniform();
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (const double share : {0.9, 0.6, 0.2}) {
      const double p = share * (0.5 + 0.5 * static_cast<double>(i % 10) / 9);
      const double odds = p / (1 - p) / 3;
      scores.push_back(static_cast<float>(odds / (1 + odds)));
      if (u < p) set = {static_cast<LabelId>(scores.size() - 1)};  // the lowest node
    }
    drawn.X.append_row(std::vector<FeatureId>{0, 1, 2}, scores);
    drawn.truth.append(set);
  }
  const Calibration fitted = calibrated(predictor, chain, drawn, Executor::serial());
  EXPECT_NEAR(fitted.temperature, 1, 0.1);
  EXPECT_NEAR(fitted.shift, std::log(3), 0.1);
}

TEST(Calibration, of_label_sets_needs_two_rows) {
  const Identity predictor(4, Identity::Answer::set);
  const Drawn drawn = draw_sets(1, 1, 0, 1);
  try {
    calibrated(predictor, kFlat, drawn, Executor::serial());
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("there are 1 held-out rows, but must be at least 2"));
  }
}

TEST(Calibration, error_is_the_gap_of_confidence_and_accuracy) {
  const std::vector<double> confidences{0.9, 0.9, 0.9, 0.9, 0.3, 1.0};
  const auto bins = reliability(confidences, {true, true, true, false, false, true}, 10);
  EXPECT_EQ(bins[9].count, 5);
  EXPECT_NEAR(bins[9].accuracy, 0.8, 1e-12);
  EXPECT_NEAR(bins[9].confidence, 0.92, 1e-12);
  EXPECT_NEAR(expected_calibration_error(bins), (5 * 0.12 + 0.3) / 6, 1e-12);
}

// Leaves at depths 1, 2 and 3, rows that end at the inner label 1:
//   0 -> {1, 2}, 1 -> {3, 4}, 4 -> {5, 6}
LabelGraph uneven() {
  return LabelGraph::build(7,
                           std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {4, 5}, {4, 6}});
}

TEST(HierarchyProbabilities, sum_to_one_at_every_level_of_an_uneven_tree) {
  const LabelGraph graph = uneven();
  const std::vector<double> ends{0, 0.1, 0.2, 0.15, 0, 0.3, 0.25};
  std::vector<double> q(7);
  HierarchyProbabilities(graph).sum_below(ends, q);
  for (std::uint32_t depth = 0; depth <= 3; ++depth) {
    double sum = 0;
    for (NodeId n = 0; n < 7; ++n) {
      if (graph.depth(n) == depth) sum += q[n];
      if (graph.depth(n) < depth) sum += ends[n];
    }
    EXPECT_NEAR(sum, 1, 1e-12) << depth;
  }
}

TEST(HierarchyProbabilities, a_label_counts_once_below_a_node_of_a_dag) {
  // A diamond: 0 -> {1, 2} -> 3, and the leaf 4 below 2.
  const LabelGraph graph =
      LabelGraph::build(5, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}});
  std::vector<double> q(5);
  HierarchyProbabilities(graph).sum_below(std::vector<double>{0, 0, 0, 0.6, 0.4}, q);
  EXPECT_NEAR(q[0], 1, 1e-12);
  EXPECT_NEAR(q[1], 0.6, 1e-12);
  EXPECT_NEAR(q[2], 1, 1e-12);
}

TEST(HierarchyProbabilities, stop_at_the_last_node_that_is_confident_enough) {
  const HierarchyProbabilities probabilities(uneven());
  const std::vector<double> ends{0, 0.1, 0.2, 0.15, 0, 0.3, 0.25};
  std::vector<double> q(7);
  probabilities.sum_below(ends, q);
  EXPECT_EQ(probabilities.confident(ends, q, 0.9), 0u);
  EXPECT_EQ(probabilities.confident(ends, q, 0.8), 1u);
  EXPECT_EQ(probabilities.confident(ends, q, 0.5), 4u);
  EXPECT_EQ(probabilities.confident(ends, q, 0), 5u);
  const std::vector<double> inner{0, 0.6, 0.2, 0.05, 0, 0.1, 0.05};
  probabilities.sum_below(inner, q);
  EXPECT_EQ(probabilities.confident(inner, q, 0), 1u);  // ending there is the most probable
}

/// The probabilities of one row with these scores, of a chain 0 -> 1 -> 2 and the root 3, which is
/// never predicted.
struct Probabilities {
  std::vector<double> labels, nodes;
};
Probabilities of_scores(const ProbabilityRule& rule, const std::vector<float>& scores) {
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 1, 2}, scores);
  const HierarchyProbabilities hierarchy(
      LabelGraph::build(4, std::vector<LabelEdge>{{0, 1}, {1, 2}}));
  Probabilities found;
  for_probabilities(Identity(4), rule, &hierarchy, X, Executor::serial(),
                    [&](std::size_t, const RowProbabilities& p) {
                      found.labels.assign(p.labels.begin(), p.labels.end());
                      found.nodes.assign(p.nodes.begin(), p.nodes.end());
                    });
  return found;
}

TEST(ProbabilityRule, independent_labels_have_a_node_unless_all_are_absent) {
  const std::vector<float> scores{-1, 0.5F, 40};
  const auto [labels, nodes] = of_scores({ProbabilityRule::Form::independent}, scores);
  double absent = 1;
  for (std::size_t l = 3; l-- > 0;) {
    const double p = 1 / (1 + std::exp(-static_cast<double>(scores[l])));
    EXPECT_NEAR(labels[l], p, 1e-12);
    absent *= 1 - p;
    EXPECT_NEAR(nodes[l], 1 - absent, 1e-12);
  }
  EXPECT_EQ(labels[3], 0);
  EXPECT_EQ(nodes[3], 0);
  const auto extreme = of_scores({ProbabilityRule::Form::independent}, {-1000, 1000, -1000});
  EXPECT_EQ(extreme.labels, (std::vector<double>{0, 1, 0, 0}));
  EXPECT_EQ(extreme.nodes, (std::vector<double>{1, 1, 0, 0}));
}

TEST(ProbabilityRule, log_odds_are_divided_by_the_temperature_and_shifted) {
  const auto p_at = [](double z) { return 1 / (1 + std::exp(-z)); };
  const auto sets = of_scores({ProbabilityRule::Form::independent, 2, -0.5}, {-1, 0.5F, 3});
  EXPECT_NEAR(sets.labels[0], p_at(-1), 1e-12);
  EXPECT_NEAR(sets.labels[2], p_at(1), 1e-12);
  EXPECT_EQ(sets.labels[3], 0);
  const auto nodes =
      of_scores({ProbabilityRule::Form::node_estimate, 2, -0.5}, {0.75F, 0.5F, 0.25F});
  EXPECT_NEAR(nodes.labels[0], p_at(std::log(3.0) / 2 - 0.5), 1e-12);
  EXPECT_NEAR(nodes.labels[1], p_at(-0.5), 1e-12);
  EXPECT_EQ(nodes.nodes, nodes.labels);
}

TEST(ProbabilityRule, estimates_stay_within_zero_and_one) {
  const auto [labels, nodes] =
      of_scores({ProbabilityRule::Form::node_estimate}, {1.25F, 0.5F, -0.25F});
  EXPECT_EQ(labels, (std::vector<double>{1 - 1e-6, 0.5, 1e-6, 1e-6}));
  EXPECT_EQ(nodes, labels);
}

TEST(HierarchyProbabilities, of_label_sets_all_lowest_confident_nodes_are_given) {
  // A diamond: 0 -> {1, 2} -> 3, and the leaf 4 below 2.
  const HierarchyProbabilities diamond(
      LabelGraph::build(5, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {2, 4}}));
  using Nodes = std::vector<LabelId>;
  const std::vector<double> q{0.9, 0.8, 0.85, 0.3, 0.6};
  EXPECT_EQ(diamond.lowest_confident(q, 0.7), (Nodes{1, 2}));
  EXPECT_EQ(diamond.lowest_confident(q, 0.5), (Nodes{1, 4}));
  EXPECT_EQ(diamond.lowest_confident(q, 0.86), (Nodes{0}));
  EXPECT_EQ(diamond.lowest_confident(q, 0.95), Nodes{});
  EXPECT_EQ(diamond.lowest_confident(std::vector<double>(5, 0.0), 0), Nodes{});
}

TEST(HierarchyProbabilities, nothing_is_confident_where_no_root_is) {
  const HierarchyProbabilities flat(LabelGraph::flat(3));
  const std::vector<double> ends{0.2, 0.5, 0.3};
  EXPECT_EQ(flat.confident(ends, ends, 0.5), 1u);
  EXPECT_EQ(flat.confident(ends, ends, 0.51), std::nullopt);
  const std::vector<double> sure{0, 1 - 1e-12, 0};
  EXPECT_EQ(flat.confident(sure, sure, 1), 1u);
}

}  // namespace
}  // namespace margrove
