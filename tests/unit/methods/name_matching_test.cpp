// Names of labels as evidence.

#include "methods/name_matching.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "files.hpp"
#include "margrove/control.hpp"
#include "methods/methods.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {
namespace {
using ::testing::HasSubstr;
using testing::message_of;

const std::vector<std::string> kAnimals{"dogs", "cats", "fish", "birds", "horses", "whales"};

/// Animals by their ids, and `unseen` without rows.
Hierarchy vocabulary() {
  Hierarchy names;
  for (std::size_t k = 0; k < kAnimals.size(); ++k) {
    names.codec.add(concat("id", k));
    names.names.push_back(kAnimals[k]);
    names.other_names.emplace_back();
  }
  names.codec.add("unseen");
  names.names.emplace_back("beetles");
  names.other_names.emplace_back("insects\nchafers");
  return names;
}

/// Texts that nearly always have the name of their label. The last two labels have one row each, so
/// that they have none in the training of a fold.
Examples texts() {
  Examples raw;
  raw.kind = RowKind::documents;
  raw.source = "texts";
  const std::vector<std::string> words{"small", "large", "tame", "wild", "old", "young"};
  for (std::size_t i = 0; i < 42; ++i) {
    const std::size_t k = i < 40 ? i % 4 : i - 36;
    raw.documents.push_back(concat("a book of ", words[i % 6], " ", kAnimals[k], " in ",
                                   words[(i / 6) % 6], " insects chafers houses"));
    raw.labels.append(std::vector{raw.codec.add(concat("id", k))});
  }
  return raw;
}

ModelParts trained(const Method& method, const OptionValues& values, int threads,
                   const Hierarchy& hierarchy = vocabulary(), Examples rows = texts()) {
  const auto run = method.start();
  set_options(run->options(), values);
  const PreparedRows prepared = prepare_rows(std::move(rows), &hierarchy, {});
  Executor executor(threads);
  RunControl control;
  return train_model(method, *run, prepared.training_set(), prepared.preprocessing, executor,
                     control);
}

std::string answer(const ModelParts& model, const std::string& text) {
  const CsrMatrix X = model.preprocessing.apply(std::vector{text});
  return model.labels.name(model.rows().top(X, 1, Executor::serial()).labels[0]);
}

TEST(NameMatching, a_label_without_rows_is_answered_by_its_names) {
  for (const Method& method : {flat_svm(), flat_lr(), level_svm()}) {
    const ModelParts model = trained(method, {{"match_names", "true"}}, 1);
    EXPECT_GT(model.report.name_weight, 0) << method.name;
    EXPECT_TRUE(std::isfinite(model.report.unseen_score)) << method.name;
    EXPECT_EQ(answer(model, "chafers, insects"), "unseen") << method.name;
    EXPECT_EQ(answer(model, "small dogs in old houses"), "id0") << method.name;
    const ModelParts without = trained(method, {{"match_names", "false"}}, 1);
    EXPECT_NE(answer(without, "chafers, insects"), "unseen") << method.name;
    EXPECT_TRUE(std::isnan(without.report.name_weight)) << method.name;
  }
}

TEST(NameMatching, scores_are_those_of_the_definition) {
  const OptionValues named{{"match_names", "true"}, {"decision", "zero"}};
  const ModelParts model = trained(flat_svm(), named, 1), base = trained(flat_svm(), {}, 1);
  const CsrMatrix X = model.preprocessing.apply(std::vector<std::string>{"insects and tame dogs"});
  const CsrMatrix names =
      model.preprocessing.apply(std::vector<std::string>{"dogs", "beetles\ninsects\nchafers"});
  const auto similarity = [&](std::size_t name) {
    double sum = 0;
    const SparseRow x = X.row(0), n = names.row(name);
    for (std::size_t k = 0; k < x.size(); ++k) {
      const auto found = std::ranges::lower_bound(n.columns, x.columns[k]);
      if (found == n.columns.end() || *found != x.columns[k]) continue;
      sum += double{x.values[k]} * n.values[static_cast<std::size_t>(found - n.columns.begin())];
    }
    return sum;
  };
  std::vector<float> of_model(model.labels.size()), of_base(model.labels.size());
  model.rows().scores(X, 0, 1, of_model);
  base.rows().scores(X, 0, 1, of_base);
  const LabelId dogs = *model.labels.find("id0"), unseen = *model.labels.find("unseen");
  const FitReport& report = model.report;
  EXPECT_GT(similarity(0), 0);
  EXPECT_GT(similarity(1), 0);
  EXPECT_NEAR(of_model[dogs], of_base[dogs] + report.name_weight * similarity(0), 1e-5);
  EXPECT_NEAR(of_model[unseen], report.unseen_score + report.name_weight * similarity(1), 1e-5);
}

TEST(NameMatching, threads_do_not_change_the_scores) {
  const CsrMatrix X = trained(flat_svm(), {}, 1).preprocessing.apply(texts().documents);
  std::vector<std::vector<float>> scores;
  for (const int threads : {1, 3}) {
    const ModelParts model = trained(flat_svm(), {{"match_names", "true"}}, threads);
    scores.emplace_back(X.num_rows() * model.labels.size());
    model.rows().scores(X, 0, X.num_rows(), scores.back());
  }
  EXPECT_EQ(scores[0], scores[1]);
}

TEST(NameMatching, names_that_say_nothing_have_no_weight) {
  Hierarchy wrong = vocabulary();
  std::ranges::rotate(wrong.names, wrong.names.begin() + 1);  // each has the name of another
  const ModelParts model = trained(flat_svm(), {{"match_names", "true"}}, 1, wrong);
  EXPECT_EQ(model.report.name_weight, 0);
  ASSERT_EQ(model.report.warnings.size(), 1U);
  EXPECT_THAT(model.report.warnings[0], HasSubstr("match_names changes nothing"));
  EXPECT_EQ(answer(model, "small dogs in old houses"), "id0");
}

TEST(NameMatching, sets_of_labels_are_decided_with_the_names) {
  Examples rows = texts();
  LabelSets sets;
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    std::vector<LabelId> set(rows.labels[i].begin(), rows.labels[i].end());
    if (i % 5 == 0) {
      set.push_back(static_cast<LabelId>((set[0] + 1) % 4));
      rows.documents[i] += " and " + kAnimals[(set[0] + 1) % 4];
    }
    sets.append(set);
  }
  rows.labels = sets;
  const ModelParts model =
      trained(flat_svm(), {{"match_names", "true"}}, 1, vocabulary(), std::move(rows));
  const CsrMatrix X = model.preprocessing.apply(std::vector<std::string>{"chafers, insects"});
  const LabelSets answers = model.rows().predict(X, Executor::serial());
  const LabelId unseen = *model.labels.find("unseen");
  EXPECT_EQ(std::ranges::count(answers[0], unseen), 1);
}

/// Animals below their kinds: an inner node without rows has an unseen leaf below.
Hierarchy with_kinds() {
  Hierarchy tree = vocabulary();
  for (const char* kind : {"vertebrates", "arthropods"}) {
    tree.codec.add(kind);
    tree.names.emplace_back(kind);
    tree.other_names.emplace_back();
  }
  for (NodeId k = 0; k < 6; ++k) tree.edges.push_back({7, k});
  tree.edges.push_back({8, 6});
  return tree;
}

TEST(NameMatching, level_svm_answers_inner_nodes_by_name_only_where_rows_have_inner_labels) {
  const OptionValues named{{"match_names", "true"}};
  ModelParts model = trained(level_svm(), named, 1, with_kinds());
  EXPECT_EQ(answer(model, "chafers, insects"), "unseen");
  EXPECT_NE(answer(model, "arthropods"), "arthropods");
  Examples rows = texts();
  rows.documents.emplace_back("a book of arthropods and insects");
  rows.documents.emplace_back("a book of vertebrates and all their kinds");
  const LabelId kind = rows.codec.add("vertebrates");
  for (int copy = 0; copy < 2; ++copy) rows.labels.append(std::vector{kind});
  model = trained(level_svm(), named, 1, with_kinds(), std::move(rows));
  EXPECT_EQ(answer(model, "arthropods"), "arthropods");
}

TEST(NameMatching, level_svm_counts_names_as_a_level) {
  for (const char* multiclass : {"auto", "ovr"}) {
    const OptionValues options{{"match_names", "true"}, {"multiclass", multiclass}};
    const ModelParts one = trained(level_svm(), options, 1, with_kinds());
    const ModelParts three = trained(level_svm(), options, 3, with_kinds());
    const CsrMatrix X = one.preprocessing.apply(texts().documents);
    std::vector<float> scores(X.num_rows() * one.labels.size()), again = scores;
    one.rows().scores(X, 0, X.num_rows(), scores);
    three.rows().scores(X, 0, X.num_rows(), again);
    EXPECT_EQ(scores, again) << multiclass;
    EXPECT_GT(one.report.name_weight, 0) << multiclass;
  }
  Hierarchy wrong = with_kinds();
  std::rotate(wrong.names.begin(), wrong.names.begin() + 1, wrong.names.begin() + 6);
  const ModelParts model = trained(level_svm(), {{"match_names", "true"}}, 1, wrong);
  EXPECT_EQ(model.report.name_weight, 0);
  EXPECT_THAT(model.report.warnings.back(), HasSubstr("match_names changes nothing"));
}

/// The scores of the texts.
std::vector<float> scores_of(const ModelParts& model) {
  const CsrMatrix X = model.preprocessing.apply(texts().documents);
  std::vector<float> scores(X.num_rows() * model.labels.size());
  model.rows().scores(X, 0, X.num_rows(), scores);
  return scores;
}

TEST(NameMatching, level_svm_matches_names_by_default) {
  const ModelParts model = trained(level_svm(), {}, 1, with_kinds());
  const ModelParts named = trained(level_svm(), {{"match_names", "true"}}, 1, with_kinds());
  EXPECT_EQ(scores_of(model), scores_of(named));
  EXPECT_EQ(model.report.name_weight, named.report.name_weight);
  const ModelParts without = trained(level_svm(), {{"match_names", "false"}}, 1, with_kinds());
  EXPECT_TRUE(std::isnan(without.report.name_weight));
  EXPECT_NE(scores_of(without), scores_of(named));
}

TEST(NameMatching, by_default_level_svm_takes_what_has_no_names_to_match) {
  const OptionValues off{{"match_names", "false"}};
  Hierarchy nameless = with_kinds();
  nameless.names.clear();
  nameless.other_names.clear();
  const ModelParts model = trained(level_svm(), {}, 1, nameless);
  EXPECT_TRUE(std::isnan(model.report.name_weight));
  EXPECT_EQ(scores_of(model), scores_of(trained(level_svm(), off, 1, nameless)));
  const ModelParts no_bias = trained(level_svm(), {{"bias", "0"}}, 1, with_kinds());
  EXPECT_TRUE(std::isnan(no_bias.report.name_weight));
  Hierarchy wrong = with_kinds();
  std::rotate(wrong.names.begin(), wrong.names.begin() + 1, wrong.names.begin() + 6);
  const ModelParts unhelped = trained(level_svm(), {}, 1, wrong);
  EXPECT_EQ(unhelped.report.name_weight, 0);
  EXPECT_TRUE(unhelped.report.warnings.empty()) << "nobody asked for names";
}

TEST(NameMatching, by_default_level_svm_takes_rows_of_numbers) {
  const Hierarchy hierarchy = with_kinds();
  Examples numbers = texts();
  numbers.kind = RowKind::numbers;
  for (std::size_t i = 0; i < numbers.documents.size(); ++i) {
    numbers.X.append_row(std::vector<FeatureId>{static_cast<FeatureId>(i % 5)},
                         std::vector<float>{1});
  }
  numbers.documents.clear();
  const PreparedRows rows = prepare_rows(std::move(numbers), &hierarchy, {});
  const auto scores = [&](const OptionValues& values) {
    const Method method = level_svm();
    const auto run = method.start();
    set_options(run->options(), values);
    Executor executor(1);
    RunControl control;
    const ModelParts model =
        train_model(method, *run, rows.training_set(), rows.preprocessing, executor, control);
    EXPECT_TRUE(std::isnan(model.report.name_weight));
    std::vector<float> all(rows.X.view().num_rows() * model.labels.size());
    model.rows().scores(rows.X, 0, rows.X.view().num_rows(), all);
    return all;
  };
  EXPECT_EQ(scores({}), scores({{"match_names", "false"}}));
}

TEST(NameMatching, labels_of_words_are_their_own_names) {
  Hierarchy own = with_kinds(), named = with_kinds();
  own.codec = {};
  for (const std::string& name : named.names) own.codec.add(name);
  own.names.clear();
  own.other_names.clear();
  named.codec = own.codec;
  named.other_names.clear();
  Examples rows = texts();
  rows.codec = {};
  for (const std::string& animal : kAnimals) rows.codec.add(animal);
  const ModelParts by_id = trained(level_svm(), {}, 1, own, rows);
  const ModelParts by_name = trained(level_svm(), {}, 1, named, rows);
  EXPECT_GT(by_id.report.name_weight, 0);
  EXPECT_EQ(scores_of(by_id), scores_of(by_name));
  EXPECT_TRUE(by_id.label_names.empty());
}

TEST(NameMatching, memory_of_names_is_planned_where_they_count) {
  const Hierarchy hierarchy = with_kinds();
  const PreparedRows rows = prepare_rows(texts(), &hierarchy, {});
  const auto bytes = [&](const OptionValues& values) {
    const Method method = level_svm();
    const auto run = method.start();
    set_options(run->options(), values);
    RunControl control;
    return plan_training(method, *run, rows.training_set(), Executor::serial(), control)
        .memory.total();
  };
  EXPECT_EQ(bytes({}), bytes({{"match_names", "true"}}));
  EXPECT_GT(bytes({}), bytes({{"match_names", "false"}}));
}

TEST(NameMatching, what_lacks_names_or_texts_is_refused) {
  const OptionValues named{{"match_names", "true"}};
  Hierarchy nameless = vocabulary();
  nameless.names.clear();
  nameless.other_names.clear();
  for (const Method& method : {flat_svm(), level_svm()}) {
    EXPECT_THAT(message_of<InvalidOption>([&] { trained(method, named, 1, nameless); }),
                HasSubstr("match_names is given, but the labels have no names, and less than "
                          "half of them are words; give a hierarchy"));
    const OptionValues no_bias{{"match_names", "true"}, {"bias", "0"}};
    EXPECT_THAT(message_of<InvalidOption>([&] { trained(method, no_bias, 1); }),
                HasSubstr("match_names is given, but bias is 0"));
  }
  Examples numbers = texts();
  numbers.kind = RowKind::numbers;
  for (std::size_t i = 0; i < numbers.documents.size(); ++i) {
    numbers.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  }
  numbers.documents.clear();
  const Hierarchy hierarchy = vocabulary();
  const PreparedRows prepared = prepare_rows(std::move(numbers), &hierarchy, {});
  const auto refused = [&](const PreparedRows& rows, const OptionValues& values) {
    return message_of<InvalidOption>([&] {
      const Method method = flat_svm();
      const auto run = method.start();
      set_options(run->options(), values);
      RunControl control;
      plan_training(method, *run, rows.training_set(), Executor::serial(), control);
    });
  };
  EXPECT_THAT(refused(prepared, named), HasSubstr("match_names is given, but rows are not texts"));
  const PreparedRows documents = prepare_rows(texts(), &hierarchy, {});
  const auto with = [&](const std::string& name, const std::string& value) {
    return refused(documents, {{"match_names", "true"}, {name, value}});
  };
  EXPECT_THAT(with("partial_labels", "true"), HasSubstr("but partial_labels is, too"));
  EXPECT_THAT(with("multiclass", "crammer-singer"), HasSubstr("multiclass is crammer-singer"));
}

}  // namespace
}  // namespace margrove
