#include "eval/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "counted_seconds.hpp"
#include "eval/evaluation.hpp"
#include "model/splits.hpp"
#include "noisy_rows.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// 90 rows of label 0, 10 of label 1, 1 of label 2.
LabelSets uneven_labels() {
  LabelSets labels;
  for (int i = 0; i < 101; ++i) {
    labels.append(std::vector<LabelId>{i < 90 ? 0u : i < 100 ? 1u : 2u});
  }
  return labels;
}

Examples noisy_rows(std::size_t num_rows) {
  Random random(1);
  Examples raw;
  raw.source = "toy";
  raw.codec = LabelCodec({"p", "q"});
  raw.X = CsrMatrix(3);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto label = static_cast<LabelId>(random.below(2));
    const auto noise = [&] { return static_cast<float>(random.normal()); };
    raw.X.append_row(std::vector<FeatureId>{0, 1, 2},
                     std::vector<float>{label == 0 ? 1 + noise() : -1 + noise(), noise(), noise()});
    raw.labels.append(std::vector<LabelId>{label});
  }
  return raw;
}

void wait_for_end(RunControl& control) {
  while (control.proceed()) continue;
}

template <class Error = InvalidOption, class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CrossValidation, leaves_out_the_folds_that_would_begin_after_the_time_limit) {
  const LabelSets labels = uneven_labels();
  for (const int ended_in : {1, 3, 99}) {
    RunControl control(nullptr, 0.05, &testing_clock::counted_seconds);
    int visited = 0;
    cross_validate(labels, 5, 1, "the result", control, [&](const Split&, const RunControl&) {
      if (++visited == ended_in) wait_for_end(control);
    });
    EXPECT_EQ(visited, std::min(ended_in, 5));
    const std::vector<std::string> notes = control.notes();
    const std::string others =
        "folds of the cross-validation early or left them out, so that the "
        "result may be far from the best";
    if (ended_in == 1) {
      EXPECT_EQ(notes, std::vector{"the time limit ended all 5 " + others});
    } else if (ended_in == 3) {
      EXPECT_EQ(notes, std::vector{"the time limit ended 3 of 5 " + others});
    } else {
      EXPECT_TRUE(notes.empty());
    }
  }
  RunControl ended(nullptr, 0.0);
  int visited = 0;
  cross_validate(labels, 5, 1, "the result", ended,
                 [&](const Split&, const RunControl&) { ++visited; });
  EXPECT_EQ(visited, 1);  // what is tuned has some rows
}

TEST(CrossValidation, an_interruption_in_a_fold_ends_all) {
  for (const int ended_in : {1, 3, 5}) {
    RunControl control;
    int visited = 0;
    const auto visit = [&](const Split&, RunControl& share) {
      if (++visited == ended_in) control.interrupt();
      EXPECT_EQ(share.proceed(), visited < ended_in);
    };
    EXPECT_THROW(cross_validate(uneven_labels(), 5, 1, "the result", control, visit), OutOfTime);
    EXPECT_EQ(visited, ended_in);
  }
}

TEST(StratifiedFolds, validate_every_row_once_and_share_every_label_evenly) {
  const LabelSets labels = uneven_labels();
  const auto folds = stratified_folds(labels, 4, 7);
  ASSERT_EQ(folds.size(), 4u);
  std::vector<int> validated(101, 0);
  std::map<LabelId, std::pair<int, int>> range;  // label -> fewest, most rows in a fold
  for (const Split& fold : folds) {
    EXPECT_EQ(fold.training.size() + fold.validation.size(), 101u);
    EXPECT_TRUE(std::is_sorted(fold.validation.begin(), fold.validation.end()));
    std::map<LabelId, int> counts{{0, 0}, {1, 0}, {2, 0}};
    for (const std::uint32_t i : fold.validation) {
      ++validated[i];
      ++counts[labels[i][0]];
    }
    for (const auto& [label, count] : counts) {
      auto& [fewest, most] = range.try_emplace(label, count, count).first->second;
      fewest = std::min(fewest, count);
      most = std::max(most, count);
    }
  }
  EXPECT_THAT(validated, ::testing::Each(1));
  for (const auto& [label, counts] : range) EXPECT_LE(counts.second - counts.first, 1) << label;
}

TEST(StratifiedFolds, depend_on_the_seed_only) {
  const LabelSets labels = uneven_labels();
  EXPECT_EQ(stratified_folds(labels, 3, 1)[0].validation,
            stratified_folds(labels, 3, 1)[0].validation);
  EXPECT_NE(stratified_folds(labels, 3, 1)[0].validation,
            stratified_folds(labels, 3, 2)[0].validation);
}

TEST(StratifiedFolds, wrong_numbers_throw) {
  EXPECT_THAT(message_of([] { stratified_folds(uneven_labels(), 1, 0); }),
              HasSubstr("option folds is 1, but must be in [2, 101]"));
  EXPECT_THAT(message_of([] { stratified_folds(uneven_labels(), 102, 0); }),
              HasSubstr("option folds is 102"));
}

TEST(StratifiedHoldOut, takes_the_share_of_each_label_and_leaves_single_rows) {
  const LabelSets labels = uneven_labels();
  const Split split = stratified_hold_out(labels, 0.2, 3);
  std::map<LabelId, int> counts;
  for (const std::uint32_t i : split.validation) ++counts[labels[i][0]];
  EXPECT_EQ(counts[0], 18);
  EXPECT_EQ(counts[1], 2);
  EXPECT_EQ(counts[2], 0);
  EXPECT_EQ(split.training.size(), 81u);
  EXPECT_THAT(message_of([&] { stratified_hold_out(labels, 1.0, 3); }),
              HasSubstr("option holdout is 1, but must be between 0 and 1"));
  LabelSets single;
  single.append(std::vector<LabelId>{0});
  EXPECT_THAT(message_of<InvalidInput>([&] { stratified_hold_out(single, 0.5, 3); }),
              HasSubstr("no label has enough rows"));
}

TEST(ParseGrid, gives_all_combinations_last_name_fastest) {
  const std::vector<std::string> texts{"C=0.1,1", "max-passes=5,6"};
  const auto grid = parse_grid(texts);
  ASSERT_EQ(grid.size(), 4u);
  EXPECT_THAT(grid[1],
              ElementsAre(std::pair("C", "0.1"), std::pair(std::string("max_passes"), "6")));
  EXPECT_THAT(grid[2][0].second, "1");
}

TEST(ParseGrid, wrong_texts_throw) {
  const auto error = [](std::vector<std::string> texts) {
    return message_of([&] { parse_grid(texts); });
  };
  for (const char* text : {"C", "=1", "C="}) {
    EXPECT_THAT(error({text}), HasSubstr("but must be name=value,value"));
  }
  EXPECT_THAT(error({"C=1,,2"}), HasSubstr("a value is empty"));
  EXPECT_THAT(error({"C=1,"}), HasSubstr("a value is empty"));
  EXPECT_THAT(error({"C=1", "C=2"}), HasSubstr("gives C twice"));
}

TuningResult tune_toy(Executor& executor, RunControl& control,
                      std::string_view metric = "accuracy") {
  const Examples raw = noisy_rows(60);
  const std::vector<std::string> texts{"C=1e-6,0.1,10"};
  return tune(find_method("flat-svm"), {{"bias", "0"}}, parse_grid(texts), raw, nullptr, {},
              stratified_folds(raw.labels, 3, 0), metric, executor, control);
}

TEST(Tune, picks_the_best_mean_and_does_not_depend_on_threads) {
  Executor one(1);
  RunControl control;
  const TuningResult expected = tune_toy(one, control);
  ASSERT_EQ(expected.points.size(), 3u);
  for (const GridPoint& point : expected.points) {
    EXPECT_LE(point.mean, expected.points[expected.best].mean);
    ASSERT_EQ(point.scores.size(), 3u);
    EXPECT_NEAR(point.mean, (point.scores[0] + point.scores[1] + point.scores[2]) / 3, 1e-12);
  }
  for (const int threads : {2, 5}) {
    Executor executor(threads);
    const TuningResult result = tune_toy(executor, control);
    EXPECT_EQ(result.best, expected.best);
    for (std::size_t p = 0; p < 3; ++p) {
      EXPECT_EQ(result.points[p].scores, expected.points[p].scores);
    }
  }
}

TEST(Tune, takes_the_smallest_loss) {
  Executor executor(1);
  RunControl control;
  const TuningResult result = tune_toy(executor, control, "hamming_loss");
  for (const GridPoint& point : result.points) {
    EXPECT_GE(point.mean, result.points[result.best].mean);
  }
  const TuningResult of_accuracy = tune_toy(executor, control, "accuracy");
  EXPECT_EQ(result.best, of_accuracy.best);  // one label: the loss falls where accuracy rises
}

TEST(Tune, of_equal_means_the_first_wins) {
  const Examples raw = noisy_rows(30);
  const std::vector<std::string> texts{"seed=1,2,3"};
  Executor executor(1);
  RunControl control;
  const TuningResult result =
      tune(find_method("flat-svm"), {{"tolerance", "1e-8"}}, parse_grid(texts), raw, nullptr, {},
           stratified_folds(raw.labels, 2, 0), "accuracy", executor, control);
  EXPECT_EQ(result.best, 0u);
}

TEST(Tune, wrong_options_and_metrics_throw_before_training) {
  Executor executor(1);
  RunControl control([](const Progress&) -> bool { throw std::logic_error("work was started"); });
  EXPECT_THAT(message_of([&] { tune_toy(executor, control, "beauty"); }),
              HasSubstr("metric is 'beauty', but must be one of accuracy"));
  const Examples raw = noisy_rows(30);
  const std::vector<std::string> texts{"colour=red"};
  EXPECT_THAT(message_of([&] {
                tune(find_method("flat-svm"), {}, parse_grid(texts), raw, nullptr, {},
                     stratified_folds(raw.labels, 2, 0), "accuracy", executor, control);
              }),
              HasSubstr("unknown option colour"));
}

Examples short_texts() {
  Examples raw;
  raw.kind = RowKind::documents;
  raw.source = "texts";
  raw.codec = LabelCodec({"verbs", "nouns"});
  for (const char* stem : {"walk", "talk", "jump", "work", "play", "call", "look", "help"}) {
    raw.documents.push_back(concat("they ", stem, "ing"));
    raw.labels.append(std::vector<LabelId>{0});
    raw.documents.push_back(concat("they ", stem, "er"));
    raw.labels.append(std::vector<LabelId>{1});
  }
  return raw;
}

TEST(Tune, a_grid_may_hold_options_of_the_preprocessing) {
  const Examples raw = short_texts();
  const auto tuned = [&](std::vector<std::string> texts, int threads) {
    Executor executor(threads);
    RunControl control;
    return tune(find_method("flat-svm"), {}, parse_grid(texts), raw, nullptr, {},
                stratified_folds(raw.labels, 4, 0), "accuracy", executor, control);
  };
  const TuningResult both = tuned({"C=0.1,1", "char_ngrams=none,3"}, 1);
  ASSERT_EQ(both.points.size(), 4U);
  EXPECT_EQ(both.best, 1U);  // the ends of words decide, and no word occurs twice but one
  EXPECT_EQ(both.points[1].mean, 1);
  EXPECT_LE(both.points[0].mean, 0.5);
  EXPECT_EQ(tuned({"C=0.1,1", "char_ngrams=none,3"}, 3).points[3].scores, both.points[3].scores);
  // Each point is what a search with its preprocessing alone finds.
  const TuningResult alone = tuned({"char_ngrams=3", "C=1"}, 1);
  EXPECT_EQ(alone.points[0].scores, both.points[3].scores);
}

TEST(Tune, wrong_values_of_the_preprocessing_throw_before_training) {
  const PreprocessingOptions options;
  EXPECT_THAT(message_of([&] {
                options_of_point({{"char_ngrams", "3-2"}}, options);
              }),
              HasSubstr("lengths are '3-2'"));
  const PointOptions point = options_of_point({{"C", "2"}, {"char_ngrams", "3"}}, options);
  EXPECT_THAT(point.of_method, ElementsAre(std::pair<std::string, std::string>("C", "2")));
  EXPECT_EQ(point.preprocessing.char_ngrams, (TextTerms::Lengths{3, 3}));
}

TEST(Tune, an_interrupt_ends_it_with_that_stop) {
  Executor executor(1);
  int reports = 0;
  RunControl control([&](const Progress&) { return ++reports < 3; });
  EXPECT_EQ(tune_toy(executor, control).stop, Stop::interrupted);
}

TEST(Tune, measures_what_evaluate_says_of_the_models_of_the_splits) {
  const Examples raw = noisy_rows(60);
  const std::vector<std::string> texts{"C=1"};
  const std::vector<Split> splits = stratified_folds(raw.labels, 2, 0);
  Executor executor(2);
  RunControl control;
  const Method& method = find_method("flat-svm");
  for (const std::string metric : {"au_prc", "f_max", "psp_at_1", "lca_f1", "coverage_error"}) {
    const TuningResult result =
        tune(method, {}, parse_grid(texts), raw, nullptr, {}, splits, metric, executor, control);
    for (std::size_t s = 0; s < splits.size(); ++s) {
      const Examples training = select_rows(raw, splits[s].training);
      const PreparedRows prepared = prepare_rows(training, nullptr, {});
      const auto run = method.start();
      set_options(run->options(), {{"C", "1"}});
      const ModelParts model = train_model(method, *run, prepared.training_set(),
                                           prepared.preprocessing, executor, control);
      const EvaluatedRows rows = evaluated_rows(model, select_rows(raw, splits[s].validation),
                                                nullptr, &training, executor);
      EXPECT_EQ(result.points[0].scores[s],
                evaluate_rows(model, rows, {.metrics = {{metric}}}, executor).metrics[0].value)
          << metric;
    }
  }
}

TuningResult tune_over_C(const Method& method, const OptionValues& fixed, const Examples& raw,
                         const std::vector<std::string>& grid, int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return tune(method, fixed, parse_grid(grid), raw, nullptr, {}, stratified_folds(raw.labels, 2, 0),
              "micro_f1", executor, control);
}

TEST(Tune, the_order_of_a_grid_and_threads_do_not_change_scores) {
  for (const bool are_sets : {false, true}) {
    const Examples raw = testing::noisy_rows({.are_sets = are_sets});
    for (const char* name : {"flat-svm", "flat-lr"}) {
      const Method& method = find_method(name);
      SCOPED_TRACE(concat(name, are_sets ? " on sets" : ""));
      const TuningResult up = tune_over_C(method, {}, raw, {"C=0.01,1,1.0,100", "bias=1,2"});
      const TuningResult down = tune_over_C(method, {}, raw, {"bias=2,1", "C=100,1.0,1,0.01"});
      const TuningResult shared = tune_over_C(method, {}, raw, {"C=0.01,1,1.0,100", "bias=1,2"}, 5);
      for (std::size_t p = 0; p < up.points.size(); ++p) {
        EXPECT_EQ(up.points[p].scores, shared.points[p].scores);
        const auto same = std::ranges::find_if(down.points, [&](const GridPoint& point) {
          return std::ranges::is_permutation(point.values, up.points[p].values);
        });
        ASSERT_NE(same, down.points.end());
        EXPECT_EQ(up.points[p].scores, same->scores);
      }
    }
  }
}

TEST(Tune, methods_and_options_without_warm_starts_train_each_point_anew) {
  const Examples raw = testing::noisy_rows({});
  const OptionValues crammer_singer{{"multiclass", "crammer-singer"}};
  OptionValues by_sgd = crammer_singer;
  by_sgd.insert(by_sgd.end(), {{"solver", "sgd"}, {"epochs", "2"}});
  for (const OptionValues& fixed : {crammer_singer, by_sgd}) {
    const Method& method = find_method("flat-svm");
    const TuningResult path = tune_over_C(method, fixed, raw, {"C=0.01,10"});
    const TuningResult alone = tune_over_C(method, fixed, raw, {"C=10"});
    EXPECT_EQ(path.points[1].scores, alone.points[0].scores);
  }
}

TEST(Tune, a_limit_that_comes_within_the_metric_leaves_no_score) {
  const Examples raw = noisy_rows(60);
  const std::vector<std::string> texts{"C=1"};
  Executor executor(1);
  bool has_ended = false;
  for (int limit = 1; limit < 5000 && !has_ended; limit += limit < 200 ? 1 : 50) {
    RunControl control(nullptr, 1e-3 * limit, &testing_clock::counted_seconds);
    const TuningResult result =
        tune(find_method("flat-svm"), {}, parse_grid(texts), raw, nullptr, {},
             stratified_folds(raw.labels, 2, 0), "au_prc", executor, control);
    has_ended = result.stop == Stop::converged;
    EXPECT_TRUE(has_ended || std::isnan(result.points[0].scores[1])) << limit;
  }
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace margrove
