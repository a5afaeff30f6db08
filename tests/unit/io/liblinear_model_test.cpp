#include "io/liblinear_model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/model_file.hpp"
#include "model/linear_predictor.hpp"
#include "small_models.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;

const std::string kThree =
    "solver_type L2R_L2LOSS_SVC_DUAL\nnr_class 3\nlabel 10 -2 7\nnr_feature 2\nbias 1\nw\n"
    "0.5 -1 0 \n0 0.25 2 \n1 1.5 -3 \n";
const std::string kTwo =
    "solver_type L2R_LR\nnr_class 2\nlabel 5 3\nnr_feature 2\nbias -1\nw\n1.5 \n-0.5 \n";

class LiblinearModel : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const {
    return (std::filesystem::temp_directory_path() /
            (::testing::UnitTest::GetInstance()->current_test_info()->name() + name))
        .string();
  }
  ModelParts import_text(const std::string& text) const {
    std::ofstream(path("in")) << text;
    return import_liblinear(path("in"));
  }
  std::string message_of(const std::string& text) const {
    try {
      import_text(text);
    } catch (const ModelFileError& error) {
      return error.what();
    }
    return "";
  }
  std::string exported(const ModelParts& model) const {
    export_liblinear(model, path("out"));
    std::ifstream file(path("out"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void TearDown() override {
    std::filesystem::remove(path("in"));
    std::filesystem::remove(path("out"));
  }
};

std::vector<float> scores(const ModelParts& model, const std::vector<float>& x) {
  std::vector<std::int64_t> pointers{0, static_cast<std::int64_t>(x.size())};
  std::vector<FeatureId> columns;
  for (std::size_t j = 0; j < x.size(); ++j) columns.push_back(static_cast<FeatureId>(j));
  const CsrView X(static_cast<std::uint32_t>(x.size()), pointers, columns, x);
  std::vector<float> all(model.labels.size());
  model.rows().scores(X, 0, 1, all);
  return all;
}

TEST_F(LiblinearModel, is_read_with_classes_in_natural_order) {
  const ModelParts model = import_text(kThree);
  EXPECT_EQ(model.method, "flat-svm");
  EXPECT_THAT(model.options,
              ::testing::Contains(std::pair<std::string, std::string>("loss", "squared-hinge")));
  EXPECT_THAT(model.labels.names(), ::testing::ElementsAre("-2", "7", "10"));
  EXPECT_THAT(scores(model, {2, 4}), ::testing::ElementsAre(-2 + 1 + 1.5F, 8 - 3, 1 + 1));
}

TEST_F(LiblinearModel, of_two_classes_holds_their_difference) {
  const ModelParts model = import_text(kTwo);
  EXPECT_EQ(model.method, "flat-lr");
  const auto both = scores(model, {2, 4});  // labels 3 and 5; the file's first class is 5
  EXPECT_EQ(both[1] - both[0], 1.5F * 2 - 0.5F * 4);
}

TEST_F(LiblinearModel, goes_out_as_it_came_in) {
  for (const std::string& text : {kThree, kTwo}) {
    const ModelParts model = import_text(text);
    const ModelParts again = import_text(exported(model));
    EXPECT_EQ(serialize_model(again), serialize_model(model));
  }
}

TEST_F(LiblinearModel, wrong_files_throw_with_line) {
  const auto with = [](std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  };
  EXPECT_THAT(message_of(with(kThree, "L2R_L2LOSS_SVC_DUAL", "L2R_L2LOSS_SVR")),
              HasSubstr("in:1: solver_type is 'L2R_L2LOSS_SVR', but must be that of a classifier"));
  EXPECT_THAT(message_of(with(kThree, "nr_class 3", "nr_class x")),
              HasSubstr(":2: nr_class is 'x', but must be a number in [2,"));
  EXPECT_THAT(message_of(with(kThree, "-2", "10")), HasSubstr("label 10 occurs twice"));
  EXPECT_THAT(message_of(with(kThree, "0.25", "nan")), HasSubstr(":8: weight is 'nan'"));
  EXPECT_THAT(message_of(with(kThree, "0.25 2", "0.25 2 9")),
              HasSubstr(":8: there are more weights than 3"));
  EXPECT_THAT(message_of(with(kThree, "1 1.5 -3 \n", "")),
              HasSubstr("the file ends after 2 of 3 weights"));
  EXPECT_THAT(message_of(with(kThree, "bias", "buas")),
              HasSubstr(":5: found 'buas', but must be a key"));
  EXPECT_THAT(message_of(with(kThree, "nr_feature 2\n", "")),
              HasSubstr("solver_type, nr_class, label or nr_feature is missing"));
  EXPECT_THAT(message_of(with(kThree, "bias", "nr_class 4\nbias")),
              HasSubstr("there are 3 labels, but must be nr_class, 4"));
  EXPECT_THAT(message_of("solver_type L2R_LR\n"), HasSubstr("the file ends before the weights"));
}

TEST_F(LiblinearModel, only_flat_models_of_numbered_labels_are_written) {
  const auto message = [&](const ModelParts& model) -> std::string {
    try {
      export_liblinear(model, path("out"));
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message(testing::small_model()), HasSubstr("but must be a flat linear one"));
  ModelParts named = import_text(kThree);
  named.labels = LabelCodec({"a", "7", "10"});
  EXPECT_THAT(message(named), HasSubstr("label is 'a', but must be a whole number"));
  for (const std::string label : {"1.5", "nan", "1e30", "3000000000", "+-1", "++1"}) {
    named.labels = LabelCodec({label, "7", "10"});
    EXPECT_THAT(message(named), HasSubstr("label is '" + label + "', but must be a whole number"));
  }
  named.labels = LabelCodec({"+1", "7", "1.0"});
  EXPECT_THAT(message(named),
              HasSubstr("labels are '+1' and '1.0', but must differ as numbers; write each"));
}

TEST_F(LiblinearModel, takes_every_spelling_of_its_labels) {
  ModelParts model = import_text(kThree);
  const std::string bytes = serialize_model(model);
  for (const auto& [spelling, label] : std::vector<std::pair<std::string, LabelId>>{
           {"-2", 0}, {"-2.0", 0}, {"+7", 1}, {"7.", 1}, {"07", 1}, {"+10.0", 2}, {"1e1", 2}}) {
    EXPECT_EQ(parse_model(std::as_bytes(std::span(bytes)), "m").labels.find(spelling), label)
        << spelling;
  }
  for (const std::string other : {"+2", "7.5", "seven", "+", ""}) {
    EXPECT_EQ(model.labels.find(other), std::nullopt) << other;
  }
  model.labels = LabelCodec({"-1", "+1", "3.0"});
  EXPECT_FALSE(model.labels.find("1").has_value());  // of other models, labels are texts
  EXPECT_THAT(import_text(exported(model)).labels.names(), ::testing::ElementsAre("-1", "1", "3"));
}

}  // namespace
}  // namespace margrove
