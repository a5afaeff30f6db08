// train(), Model and train_structured(), as users call them, against what they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "margrove/margrove.hpp"
#include "multi_class.hpp"
#include "source_folder.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainingData toy_data(std::size_t num_rows = 60) {
  return {.rows = testing::grouped_rows(num_rows, 1), .hierarchy = testing::groups()};
}

TEST(Train, gives_the_model_of_the_method_with_these_options) {
  TrainingData unscaled = toy_data();
  unscaled.column_scale = ColumnScale::none;
  const Model model = train(NhSvmOptions{.C = 3, .tolerance = 1e-4}, unscaled);
  const Hierarchy hierarchy = testing::groups();
  const ModelParts parts = testing::train("nhsvm", {{"C", "3"}, {"tolerance", "0.0001"}},
                                          testing::grouped_rows(60, 1), &hierarchy);
  EXPECT_EQ(model.method(), "nhsvm");
  EXPECT_EQ(model.options(), parts.options);
  EXPECT_EQ(model.report().primal, parts.report.primal);
  const TrainingData data = toy_data();
  const Examples& rows = data.rows;
  EXPECT_EQ(model.predict(rows), parts.rows().predict(rows.X, Executor::serial()));
}

TEST(Train, option_out_of_range_throws_with_its_name) {
  EXPECT_THAT([] { train(NhSvmOptions{.C = -1}, toy_data()); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is -1")));
}

TEST(Train, method_that_needs_a_hierarchy_throws_without_one) {
  TrainingData data = toy_data();
  data.hierarchy.reset();
  EXPECT_THAT([&] { train(TopDownSvmOptions{}, data); },
              ThrowsMessage<InvalidOption>(HasSubstr("needs a hierarchy")));
}

TEST(Train, row_of_weight_two_is_the_row_twice) {
  TrainingData twice = toy_data(20), weighted = toy_data(20);
  Examples& rows = twice.rows;
  const SparseRow first = rows.X.row(0);
  const std::vector<FeatureId> columns(first.columns.begin(), first.columns.end());
  const std::vector<float> values(first.values.begin(), first.values.end());
  const std::vector<LabelId> labels(rows.labels[0].begin(), rows.labels[0].end());
  rows.X.append_row(columns, values);
  rows.labels.append(labels);
  twice.row_weights.assign(21, 1.0);
  weighted.row_weights.assign(20, 1.0);
  weighted.row_weights[0] = 2.0;
  const CsrMatrix X = rows.X;
  EXPECT_EQ(train(FlatLrOptions{}, twice).scores(X), train(FlatLrOptions{}, weighted).scores(X));
}

TEST(Train, scales_columns_as_asked_and_applies_it_to_new_rows) {
  TrainingData raw = toy_data();
  Examples& rows = raw.rows;
  CsrMatrix large(rows.X.num_columns());
  for (std::size_t i = 0; i < rows.X.num_rows(); ++i) {
    const SparseRow x = rows.X.row(i);
    std::vector<float> values(x.values.begin(), x.values.end());
    values[0] = 1000 * values[0] + 5e4F;
    large.append_row(x.columns, values);
  }
  TrainingData scaled = toy_data();
  raw.column_scale = scaled.column_scale = ColumnScale::standard;
  const CsrMatrix small = scaled.rows.X;
  rows.X = large;
  const auto expected = train(FlatLrOptions{.tolerance = 1e-8}, scaled).scores(small);
  const auto found = train(FlatLrOptions{.tolerance = 1e-8}, raw).scores(large);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (std::isfinite(expected[k])) {
      EXPECT_NEAR(found[k], expected[k], 1e-2);
    }
  }
  raw.scaling = RowScaling::unit_norm;
  EXPECT_THAT([&] { train(FlatLrOptions{}, raw); },
              ThrowsMessage<InvalidOption>(HasSubstr("option scale is standard, which is for")));
}

class TextModel : public ::testing::Test {
 protected:
  TextDataset data_ = parse_text("dog\tbarks and bites\ncat\tpurrs\ndog\tbarks\n", "pets");
  Model model_ = train(FlatSvmOptions{}, {.rows = data_});
};

TEST_F(TextModel, saved_and_loaded_gives_the_same_scores) {
  const auto path = std::filesystem::temp_directory_path() / "margrove_public_api_test.model";
  model_.save(path);
  const Model loaded = Model::load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.scores(data_), model_.scores(data_));
  // The model numbers its labels by name, the reader by appearance unless it is given a codec.
  const TextDataset again = parse_text("dog\tbarks and bites\ncat\tpurrs\ndog\tbarks\n", "pets",
                                       {.codec = &loaded.labels()});
  EXPECT_EQ(loaded.predict(again), again.labels);
  EXPECT_DOUBLE_EQ(loaded.evaluate(again.labels, loaded.predict(again)).accuracy, 1.0);
}

TEST_F(TextModel, probabilities_of_a_row_sum_to_one) {
  const std::vector<double> p = model_.probabilities(data_);
  ASSERT_EQ(p.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(p[2 * i] + p[2 * i + 1], 1, 1e-9);
}

TEST_F(TextModel, explanation_adds_up_to_the_score) {
  const RankedLabels top = model_.top(data_, 1);
  const Explanation explanation = model_.explain(data_, 0, top.labels[0]);
  EXPECT_NEAR(explanation.score, top.scores[0], 1e-5);
  EXPECT_THAT([&] { model_.explain(data_, 3, 0); },
              ThrowsMessage<InvalidInput>(HasSubstr("row is 3, but must be below 3")));
}

TEST_F(TextModel, rows_of_numbers_and_files_throw) {
  EXPECT_THAT(
      [&] { model_.predict(CsrMatrix(3)); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are numbers, but the model takes texts")));
  EXPECT_THAT([&] { model_.predict_file("sentences.txt"); },
              ThrowsMessage<InvalidInput>(HasSubstr("must be one of sentences")));
}

TEST(Model, of_records_refuses_numbers_and_texts) {
  const Model model =
      Model::load((testing::source_folder() / "tests/golden/models/v1-records").string());
  const std::vector<std::string> documents{"sea", "fur"};
  EXPECT_THAT(
      [&] { model.predict(CsrMatrix(3)); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are numbers, but the model takes records")));
  EXPECT_THAT(
      [&] { model.scores(documents); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are texts, but the model takes records")));
}

constexpr std::string_view kArticles =
    "title,price,section,kind\n"
    "a brass lamp,10,home,light\nan oak table,80,home,table\na floor lamp,30,home,light\n"
    "a wool scarf,20,wear,scarf\na rain coat,60,wear,coat\na silk scarf,25,wear,scarf\n"
    "a desk lamp,15,home,light\na low table,70,home,table\na warm coat,90,wear,coat\n"
    "a tall lamp,35,home,light\na tea table,60,home,table\na long coat,95,wear,coat\n";

/// A file that ends with the object.
class File {
 public:
  File(const std::string& name, std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              ("margrove_public_api_" + std::to_string(::getpid()) + name)) {
    std::ofstream(path_) << text;
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

class Articles : public ::testing::Test {
 protected:
  File file_{"articles.csv", kArticles};
  const Examples articles_ = read_examples(
      file_.path(),
      {.columns = {.text = {"title"}, .numeric = {"price"}, .path_levels = {"section", "kind"}}});
  TrainingData data() const { return {.rows = articles_}; }
};

TEST_F(Articles, have_the_hierarchy_of_their_paths) {
  EXPECT_EQ(articles_.num_rows(), 12U);
  ASSERT_TRUE(articles_.hierarchy.has_value());
  EXPECT_EQ(articles_.hierarchy->edges.size(), 4U);
  const Model model = train(NhSvmOptions{.C = 10}, data());
  EXPECT_EQ(model.hierarchy().num_edges(), 4U);
  const Examples read = model.read(file_.path());
  const LabelSets predicted = model.predict(articles_);
  EXPECT_EQ(model.predict(read), predicted);
  for (std::size_t i = 0; i < predicted.num_rows(); ++i) {
    ASSERT_EQ(predicted[i].size(), 1U);  // a leaf
    EXPECT_THAT(model.labels().name(predicted[i][0]), HasSubstr(" > "));
  }
}

TEST_F(Articles, options_that_contradict_each_other_throw) {
  EXPECT_THAT([&] { read_examples(file_.path(), {.text = true, .columns = articles_.selection}); },
              ThrowsMessage<InvalidOption>(HasSubstr("options columns and text are both given")));
  EXPECT_THAT([&] { read_examples(file_.path(), {.columns = {.label = "kind"}}); },
              ThrowsMessage<InvalidOption>(HasSubstr("none is given")));
  EXPECT_THAT([&] { read_examples(file_.path(), {.ignore_columns = {"price"}}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option ignore_columns is given")));
}

TEST_F(Articles, records_that_do_not_fit_the_columns_throw) {
  const Model model = train(FlatLrOptions{}, data());
  RecordFields fields = articles_.fields;
  fields.numeric[0].pop_back();
  EXPECT_THAT(
      [&] { model.predict(fields); },
      ThrowsMessage<InvalidInput>(HasSubstr("11 values of column 'price', but must have 12")));
  fields.numeric.clear();
  EXPECT_THAT([&] { model.predict(fields); },
              ThrowsMessage<InvalidInput>(HasSubstr("texts, 0 numeric and 0 categorical fields")));
  const Examples others =
      read_examples(file_.path(), {.columns = {.text = {"title"}, .numeric = {}, .label = "kind"}});
  EXPECT_THAT([&] { model.predict(others); },
              ThrowsMessage<InvalidInput>(
                  HasSubstr("the rows have the columns title, but the model takes title, price")));
  Examples colours = articles_;
  colours.selection = {.categorical = {"colour"}};
  colours.fields = {};
  colours.fields.categorical = {{LabelCodec({"red"}), std::vector<std::uint32_t>(12, 1)}};
  EXPECT_THAT([&] { train(FlatLrOptions{}, {.rows = colours}); },
              ThrowsMessage<InvalidInput>(HasSubstr("has the id 1 of a value, but only 1 values")));
}

TEST_F(Articles, rows_and_labels_of_different_numbers_throw) {
  TrainingData data{.rows = articles_};
  data.rows.labels.append({});
  EXPECT_THAT([&] { train(FlatLrOptions{}, data); },
              ThrowsMessage<InvalidInput>(HasSubstr("it has 12 rows, but labels of 13")));
}

TEST_F(Articles, counts_of_terms_of_records_throw) {
  TrainingData data{.rows = articles_};
  data.scaling = RowScaling::tfidf;
  EXPECT_THAT([&] { train(FlatLrOptions{}, data); },
              ThrowsMessage<InvalidOption>(HasSubstr("not for rows with named columns")));
}

TEST_F(Articles, tune_trains_with_the_best_values_of_the_grid) {
  const TuneOptions options{.grid = {"C=0.1,10"}, .folds = 2, .metric = "accuracy"};
  const Tuned tuned = tune(NhSvmOptions{.C = 5, .tolerance = 1e-4}, data(), options);
  ASSERT_EQ(tuned.points.size(), 2U);
  EXPECT_EQ(tuned.points[1].scores.size(), 2U);
  const double C = tuned.best == 0 ? 0.1 : 10;
  EXPECT_GE(tuned.points[tuned.best].mean, tuned.points[1 - tuned.best].mean);
  const Model same = train(NhSvmOptions{.C = C, .tolerance = 1e-4}, data());
  EXPECT_EQ(tuned.model.scores(articles_), same.scores(articles_));
  // Rows of weight 1 are rows without weights.
  TrainingData weighted = data();
  weighted.row_weights.assign(12, 1.0);
  const Tuned again = tune(NhSvmOptions{.C = 5, .tolerance = 1e-4}, weighted, options);
  EXPECT_EQ(again.points[0].scores, tuned.points[0].scores);
}

TEST_F(Articles, tune_trains_the_model_without_the_states_of_its_trials) {
  const Tuned tuned =
      tune(FlatLrOptions{}, data(), {.grid = {"C=0.1,1,10"}, .folds = 2, .metric = "accuracy"});
  const double C = tuned.best == 0 ? 0.1 : tuned.best == 1 ? 1 : 10;
  const Model same = train(FlatLrOptions{.C = C}, data());
  EXPECT_EQ(tuned.model.scores(articles_), same.scores(articles_));
}

TEST_F(Articles, tune_goes_by_the_weights_of_the_rows) {
  const TuneOptions options{.grid = {"C=10"}, .folds = 2, .metric = "accuracy"};
  TrainingData one_class = data();
  one_class.row_weights.assign(12, 0.0);
  for (std::size_t i = 0; i < 12; ++i) {
    if (articles_.codec.name(articles_.labels[i][0]) == "home > light") {
      one_class.row_weights[i] = 1.0;
    }
  }
  EXPECT_NEAR(tune(FlatLrOptions{}, one_class, options).points[0].mean, 4.0 / 12, 1e-9);
}

TEST_F(Articles, tune_refuses_what_it_cannot_measure) {
  EXPECT_THAT([&] { tune(NhSvmOptions{}, data(), {.metric = "beauty"}); },
              ThrowsMessage<InvalidOption>(HasSubstr("beauty")));
  EXPECT_THAT([&] { tune(NhSvmOptions{}, data(), {.grid = {"C=0"}}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is 0")));
  EXPECT_THAT([&] { tune(KernelRidgeOptions{}, data()); },
              ThrowsMessage<InvalidOption>(HasSubstr("has no option C")));
  RunControl control;
  control.interrupt();
  EXPECT_THROW(tune(NhSvmOptions{}, data(), {}, Executor::serial(), &control), OutOfTimeLimit);
}

TEST_F(Articles, choose_gives_the_model_of_the_chosen_candidate) {
  const Choice choice = choose(data(), {.seed = 1});
  EXPECT_EQ(choice.metric, "accuracy");
  ASSERT_FALSE(choice.candidates.empty());
  EXPECT_EQ(choice.candidates[0].verdict, "chosen");
  EXPECT_EQ(choice.candidates[0].method, choice.model.method());
  EXPECT_FALSE(choice.reason.empty());
  TrainingData weighted = data();
  weighted.class_weight = "balanced";
  EXPECT_THAT([&] { choose(weighted); },
              ThrowsMessage<InvalidOption>(HasSubstr("takes none of them")));
}

TEST_F(Articles, class_weights_are_weights_of_rows) {
  TrainingData balanced = data(), weighted = data();
  balanced.class_weight = "balanced";
  for (std::size_t i = 0; i < 12; ++i) {  // n / (k n_l): 12 rows, 4 labels
    const std::string& label = articles_.codec.name(articles_.labels[i][0]);
    weighted.row_weights.push_back(label == "home > light"   ? 12.0 / (4 * 4)
                                   : label == "wear > scarf" ? 12.0 / (4 * 2)
                                                             : 12.0 / (4 * 3));
  }
  EXPECT_EQ(train(FlatLrOptions{}, balanced).scores(articles_),
            train(FlatLrOptions{}, weighted).scores(articles_));
}

TEST_F(Articles, calibration_divides_scores_by_a_temperature) {
  TrainingData calibrated = data();
  calibrated.calibration = 0.5;
  const Model plain = train(FlatLrOptions{}, data());
  const Model model = train(FlatLrOptions{}, calibrated);
  EXPECT_EQ(model.scores(articles_), plain.scores(articles_));
  EXPECT_NE(model.probabilities(articles_), plain.probabilities(articles_));
  calibrated.calibration = 1;
  EXPECT_THAT([&] { train(FlatLrOptions{}, calibrated); },
              ThrowsMessage<InvalidOption>(HasSubstr("option calibration is 1")));
}

TEST_F(Articles, evaluation_has_the_metrics_of_the_program) {
  const Model model = train(NhSvmOptions{.C = 10}, data());
  const auto chosen = model.evaluate(articles_, {"accuracy", "micro_f1"});
  ASSERT_EQ(chosen.size(), 2U);
  const Examples rows = model.read(file_.path());
  EXPECT_DOUBLE_EQ(chosen[0].second, model.evaluate(rows.labels, model.predict(rows)).accuracy);
  EXPECT_GT(model.evaluate(articles_).size(), 5U);
  EXPECT_THROW(model.evaluate(articles_, {"beauty"}), InvalidOption);
}

TEST_F(Articles, labels_that_the_model_lacks_get_the_ids_after_its_own) {
  const Model model = train(FlatLrOptions{}, data());
  const File other("other.csv",
                   "title,price,section,kind\na hat,5,wear,hat\na lamp,9,home,light\n");
  const Examples rows = model.read(other.path());
  EXPECT_EQ(rows.labels[0][0], model.labels().size());
  EXPECT_EQ(rows.codec.name(rows.labels[0][0]), "wear > hat");
  EXPECT_EQ(rows.labels[1][0], model.labels().find("home > light"));
}

TEST_F(Articles, report_is_a_page_with_the_texts) {
  const std::string page = train(NhSvmOptions{}, data()).report_page(articles_, "My lamps");
  EXPECT_THAT(page, HasSubstr("My lamps"));
  EXPECT_THAT(page, HasSubstr("a brass lamp"));
}

TEST_F(Articles, compressed_model_takes_the_same_rows) {
  const Model model = train(NhSvmOptions{.C = 10}, data());
  const Model small = model.compressed(0.5, WeightPrecision::bfloat16);
  EXPECT_EQ(small.labels().names().size(), model.labels().names().size());
  EXPECT_NE(small.scores(articles_), model.scores(articles_));
  EXPECT_EQ(model.compressed(1, WeightPrecision::float32).scores(articles_),
            model.scores(articles_));
  EXPECT_THROW(model.compressed(0), InvalidOption);
}

TEST_F(Articles, more_memory_than_allowed_throws) {
  RunControl control;
  control.limit_memory(1000);
  EXPECT_THAT([&] { train(NhSvmOptions{}, data(), Executor::serial(), &control); },
              ThrowsMessage<InvalidInput>(HasSubstr("but must not take more than")));
}

TEST(Views, of_files_stand_side_by_side) {
  const File first("first", "a 1:1 2:1\nb 2:2\na 1:3\nb 2:3\n");
  const File other("other", "a 1:1\nb 1:-1\na 1:2\nb 1:-2\n");
  const std::vector<ExampleOptions::ViewFile> views{{"other", other.path()}};
  const Examples rows = read_examples(first.path(), {.views = views});
  EXPECT_EQ(rows.X.num_columns(), 3U);
  ASSERT_EQ(rows.views.size(), 2U);
  EXPECT_EQ(rows.views[1], (View{"other", 2, 3}));
  const Model model = train(SpnMklOptions{}, {.rows = rows});
  EXPECT_EQ(model.predict(model.read(first.path(), views)), model.predict(rows));
  EXPECT_THAT([&] { model.read(first.path()); },
              ThrowsMessage<InvalidInput>(HasSubstr("comes with 0 further views")));
}

TEST(VectorFiles, of_texts_are_read_for_training_and_for_the_model) {
  const File texts("texts", "a\tred apple\nb\tfast car\na\tgreen apple\nb\tslow car\n");
  const std::string start("\x93NUMPY\x01\0\x40\0", 10);
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 1), }";
  const std::string ones("\0\0\x80\x3f\0\0\x80\xbf\0\0\x80\x3f\0\0\x80\xbf", 16);
  const File vectors("e.npy", start + header + std::string(63 - header.size(), ' ') + "\n" + ones);
  const Examples rows = read_examples(texts.path(), {.text = true, .vector_file = vectors.path()});
  EXPECT_THAT(rows.fields.vectors, ElementsAre(1, -1, 1, -1));
  const Model model = train(FlatLrOptions{}, {.rows = rows});
  const Examples again = model.read(texts.path(), {}, nullptr, vectors.path());
  EXPECT_EQ(again.fields.vectors, rows.fields.vectors);
  EXPECT_EQ(model.predict(again), rows.labels);
  EXPECT_THAT([&] { model.read(texts.path()); }, ThrowsMessage<InvalidInput>(HasSubstr("'text'")));
}

TEST(Model, missing_file_throws_with_its_path) {
  EXPECT_THAT([] { Model::load("/nowhere/x.model"); },
              ThrowsMessage<ModelFileError>(HasSubstr("/nowhere/x.model")));
}

// A model of users: the library's own behind the least that the concept asks.
class UserClasses {
 public:
  using Labelling = std::uint32_t;
  using Workspace = MultiClassModel::Workspace;
  struct Oracle {
    using Labelling = std::uint32_t;
    EnumerationOracle<Labelling> all;
    Candidate<Labelling> argmax(double w_m, double w_g) const { return all.argmax(w_m, w_g); }
    Candidate<Labelling> truth() const { return all.truth(); }
  };
  explicit UserClasses(const MultiClassModel& model) : model_(model) {}
  std::size_t num_examples() const { return model_.num_examples(); }
  std::size_t num_weights() const { return model_.num_weights(); }
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
    return {model_.oracle(i, w, workspace)};
  }
  void difference(std::size_t i, Labelling y, SparseVector& out) const {
    model_.difference(i, y, out);
  }
  Labelling truth(std::size_t i) const { return model_.truth(i); }

 private:
  const MultiClassModel& model_;
};

TEST(Examples, that_do_not_fit_together_throw) {
  const Examples rows = testing::grouped_rows(20, 3);
  const Model model = train(FlatSvmOptions{}, {.rows = rows});
  const auto refused = [&](const Examples& wrong, const char* message) {
    EXPECT_THAT([&] { train(FlatSvmOptions{}, {.rows = wrong}); },
                ThrowsMessage<InvalidInput>(HasSubstr(message)));
    EXPECT_THAT([&] { model.evaluate(wrong); }, ThrowsMessage<InvalidInput>(HasSubstr(message)));
    EXPECT_THAT([&] { model.report_page(wrong); }, ThrowsMessage<InvalidInput>(HasSubstr(message)));
  };
  Examples without_codec = rows;
  without_codec.codec = LabelCodec{};
  refused(without_codec, "toy: row 0 has label");
  Examples more_rows = rows;
  more_rows.labels.append(std::vector<LabelId>{0});
  refused(more_rows, "it has 20 rows, but labels of 21");
  Examples views = rows;
  views.views = {{"a", 0, 2}, {"b", 2, 9}};
  refused(views, "the views have 9 columns, but must have 4");
  EXPECT_THAT(
      [&] {
        select_rows(rows, std::vector<std::uint32_t>{3, 20});
      },
      ThrowsMessage<InvalidInput>(HasSubstr("row is 20, but must be below 20")));
  EXPECT_THAT(
      [] { read_examples("none", {.format = "foo"}); },
      ThrowsMessage<InvalidOption>(HasSubstr("option format is 'foo', but must be one of")));
}

class TrainStructured : public ::testing::Test {
 protected:
  Examples raw_ = testing::grouped_rows(80, 3);
  MultiClassModel model_ = [this] {
    std::vector<std::uint32_t> labels;
    for (std::size_t i = 0; i < raw_.num_rows(); ++i) labels.push_back(raw_.labels[i][0]);
    return MultiClassModel(raw_.X, std::move(labels), 4,
                           {0, 1, 3, 3, 1, 0, 3, 3, 3, 3, 0, 1, 3, 3, 1, 0});
  }();
};

TEST_F(TrainStructured, solvers_agree_on_the_optimum_of_every_convex_surrogate) {
  for (const AnySurrogate& psi :
       {AnySurrogate(MarginRescaling{}), AnySurrogate(SlackRescaling{})}) {
    StructuredSvmOptions options{.C = 0.3, .surrogate = psi, .tolerance = 1e-3, .max_passes = 2000};
    const StructuredFit bcfw = train_structured(model_, options).fit;
    options.solver = StructuredSolver::cutting_plane;
    const StructuredFit planes = train_structured(model_, options).fit;
    EXPECT_EQ(bcfw.stop, Stop::converged);
    EXPECT_TRUE(bcfw.certified && planes.certified);
    EXPECT_LE(bcfw.dual, planes.primal);
    EXPECT_LE(planes.dual, bcfw.primal);
  }
}

TEST_F(TrainStructured, least_oracle_reaches_the_optimum_of_margin_rescaling) {
  const StructuredSvmOptions options{.tolerance = 1e-3, .max_passes = 2000};
  const StructuredFit fit = train_structured(model_, options).fit;
  const StructuredFit least = train_structured(UserClasses(model_), options).fit;
  EXPECT_TRUE(least.certified);
  EXPECT_NEAR(least.primal, fit.primal, 2e-3 * fit.primal);
}

TEST_F(TrainStructured, threads_change_no_bit) {
  RunControl control;
  Executor one(1), five(5);
  const StructuredSvmOptions options{.surrogate = SlackRescaling{},
                                     .solver = StructuredSolver::cutting_plane};
  EXPECT_EQ(train_structured(model_, options, one, control).weights,
            train_structured(model_, options, five, control).weights);
}

TEST_F(TrainStructured, options_that_do_not_go_together_throw) {
  EXPECT_THAT(
      [&] {
        train_structured(UserClasses(model_),
                         {.surrogate = SlackRescaling{}, .search = StructuredSearch::angular});
      },
      ThrowsMessage<InvalidOption>(HasSubstr("no oracle with bounds on the slope")));
  EXPECT_THAT([&] { train_structured(model_, {.C = 0}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is 0")));
  EXPECT_THAT([&] { train_structured(MultiClassModel(CsrMatrix(2), {}, 2)); },
              ThrowsMessage<InvalidInput>(HasSubstr("there are no examples")));
}

}  // namespace
}  // namespace margrove
