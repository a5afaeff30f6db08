// Trainings that start from the state of one with another C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/training.hpp"
#include "noisy_rows.hpp"

namespace margrove {
namespace {

/// Rows of 4 labels with noise, or of sets of labels.
Examples rows_of_four_labels(bool are_sets) {
  return testing::noisy_rows({.num_rows = 300,
                              .num_columns = 40,
                              .num_labels = 4,
                              .shift = 0.4,
                              .are_sets = are_sets,
                              .seed = 5});
}

ModelParts fit(const Method& method, OptionValues options, double C, const TrainingSet& rows,
               const Continuation& continuation) {
  Executor executor(1);
  RunControl control;
  TrainingSet data = rows;
  data.continuation = continuation;
  const auto run = method.start();
  options.emplace_back("C", concat(C));
  set_options(run->options(), options);
  return train_model(method, *run, data, {}, executor, control);
}

TEST(WarmStart, with_a_larger_C_reaches_the_tolerance_in_fewer_passes) {
  const std::pair<const char*, OptionValues> cases[] = {{"flat-svm", {{"loss", "hinge"}}},
                                                        {"flat-svm", {{"loss", "squared-hinge"}}},
                                                        {"flat-lr", {}}};
  for (const bool are_sets : {false, true}) {
    const PreparedRows prepared = prepare_rows(rows_of_four_labels(are_sets), nullptr, {});
    const TrainingSet rows = prepared.training_set();
    for (const auto& [name, options] : cases) {
      SCOPED_TRACE(concat(name, are_sets ? " on sets" : ""));
      const Method& method = find_method(name);
      int cold_passes = 0, warm_passes = 0;
      std::shared_ptr<const FitState> state;
      for (const double C : {0.03, 0.1, 0.3, 1.0}) {
        const ModelParts cold = fit(method, options, C, rows, {});
        EXPECT_EQ(cold.state, nullptr);
        const ModelParts warm = fit(method, options, C, rows, {.start = state.get(), .keep = true});
        ASSERT_NE(warm.state, nullptr);
        EXPECT_EQ(warm.report.stop, Stop::converged);
        EXPECT_LE(warm.report.relative_gap, 1e-3);
        EXPECT_NEAR(warm.report.primal, cold.report.primal, 2e-3 * cold.report.primal);
        if (state != nullptr) {
          cold_passes += cold.report.passes;
          warm_passes += warm.report.passes;
        }
        state = warm.state;
      }
      EXPECT_LT(warm_passes, cold_passes);
    }
  }
}

TEST(WarmStart, the_state_of_other_rows_is_no_start) {
  const PreparedRows singles = prepare_rows(rows_of_four_labels(false), nullptr, {});
  Examples fewer = rows_of_four_labels(false);
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < 200; ++i) kept.push_back(i);
  const PreparedRows others = prepare_rows(select_rows(fewer, kept), nullptr, {});
  const Method& method = find_method("flat-svm");
  const ModelParts first = fit(method, {}, 0.01, singles.training_set(), {.keep = true});
  const ModelParts cold = fit(method, {}, 0.1, others.training_set(), {});
  const ModelParts warm = fit(method, {}, 0.1, others.training_set(), {.start = first.state.get()});
  EXPECT_NEAR(warm.report.primal, cold.report.primal, 2e-3 * cold.report.primal);
}

}  // namespace
}  // namespace margrove
