#include "serve/service.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <utime.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "files.hpp"
#include "io/model_file.hpp"
#include "serve/utc_time.hpp"
#include "served_models.hpp"

namespace margrove::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using testing::SmallService;
using ::testing::StartsWith;

json parsed(const Response& response) { return json::parse(response.body); }

// Scores are the sums over a label's path of the weights in small_models.hpp; the bias is 2.
TEST(Service, predict_gives_labels_and_scores) {
  const SmallService served;
  const Response response =
      served.post("/predict", R"({"rows":["1:2","2:1"],"top":2,"scores":true})");
  EXPECT_EQ(response.status, 200);
  const json answer = parsed(response);
  EXPECT_EQ(answer["model"], "numbers");
  EXPECT_EQ(answer["predictions"][0]["labels"], json::array({"cat", "dog"}));
  EXPECT_EQ(answer["predictions"][0]["scores"], json::array({8.0, 2.0}));
  EXPECT_EQ(answer["predictions"][1]["labels"][0], "dog");
  EXPECT_EQ(parsed(served.post("/predict", R"({"row":"1:2"})")),
            json::parse(R"({"model":"numbers","predictions":[{"labels":["cat"]}]})"));
}

TEST(Service, probabilities_sum_to_one_and_paths_have_ancestors) {
  const SmallService served;
  const json answer = parsed(
      served.post("/predict", R"({"row":"sea","model":"texts","top":9,"probabilities":true})"));
  double sum = 0;
  for (const double p : answer["predictions"][0]["probabilities"]) sum += p;
  EXPECT_NEAR(sum, 1, 1e-6);
  const json paths = parsed(served.post("/predict", R"({"row":"1:2","paths":true})"));
  EXPECT_EQ(paths["predictions"][0]["labels"], json::array({"animal", "cat"}));
  const json confident = parsed(
      served.post("/predict", R"({"row":"1:2","min_confidence":0.999,"probabilities":true})"));
  EXPECT_EQ(confident["predictions"][0]["labels"], json::array({"animal"}));
  const json unsure =
      parsed(served.post("/predict", R"({"row":"1:2","min_confidence":1,"probabilities":true})"));
  EXPECT_EQ(unsure["predictions"][0]["labels"], json::array());
}

TEST(Service, options_of_query_and_body_are_one_set) {
  const SmallService served;
  EXPECT_EQ(served.post("/predict", R"({"row":"1:2"})", "top=2").status, 200);
  EXPECT_EQ(served.post("/predict", R"({"row":"1:2","top":2})", "top=2").status, 400);
}

TEST(Service, suggestions_are_probable_labels_best_first) {
  const SmallService served;
  const Response response = served.post_form("/model/suggest", "text=fur&limit=2", "model=texts");
  EXPECT_EQ(response.status, 200) << response.body;
  const json results = parsed(response)["results"];
  const json predicted = parsed(served.post(
      "/predict",
      R"({"row":"fur","model":"texts","top":2,"probabilities":true})"))["predictions"][0];
  ASSERT_EQ(results.size(), 2U);
  for (std::size_t k = 0; k < 2; ++k) {
    const json expected{{"uri", predicted["labels"][k]}, {"score", predicted["probabilities"][k]}};
    EXPECT_EQ(results[k], expected);
  }
  EXPECT_GT(results[0]["score"], results[1]["score"]);
  EXPECT_EQ(served.post_form("/model/suggest", "project=texts&limit=2&text=fur&language=en").body,
            response.body);
  EXPECT_EQ(parsed(served.post_form("/model/suggest", "model=texts&text="))["results"].size(), 3U);
}

struct Suggested {
  int status;
  json body;
};
/// What a service of this model alone suggests.
Suggested suggested_by(const std::shared_ptr<const ServedModel>& model) {
  ServedModels models({model});
  Metrics metrics;
  const Service service(
      models, metrics, "1", [] { return Gauges(); }, [](const std::string&) {});
  const Response response = service.answer(
      {"POST", "/model/suggest", "", "application/x-www-form-urlencoded", "text=fur"},
      Deadline::max());
  return {response.status, parsed(response)};
}

TEST(Service, suggestions_have_the_names_of_labels) {
  ModelParts parts = testing::small_text_model();
  parts.label_names = {"Animals", "", "Dogs", "Fish"};
  const auto model = std::make_shared<const ServedModel>("m", std::move(parts));
  const json results = suggested_by(model).body["results"];
  ASSERT_FALSE(results.empty());
  for (const json& each : results) {
    const LabelId label = model->parts().labels.find(std::string(each["uri"])).value();
    const std::string& name = model->parts().label_names[label];
    EXPECT_EQ(each.contains("label"), !name.empty()) << each;
    EXPECT_EQ(each.value("label", ""), name);
  }
}

TEST(Service, suggestions_say_what_is_wrong) {
  const SmallService served;
  const auto fault = [&](std::string_view form, std::string_view query, int status) {
    const Response response = served.post_form("/model/suggest", form, query);
    EXPECT_EQ(response.status, status) << response.body;
    return std::string(parsed(response)["error"]);
  };
  EXPECT_EQ(fault("limit=3", "", 400), "body: it has no field 'text', but must have one");
  EXPECT_THAT(fault("text=a&limit=0", "", 400), HasSubstr("limit"));
  EXPECT_THAT(fault("text=a&limit=x", "", 400), HasSubstr("limit"));
  EXPECT_THAT(fault("text=a&limit=1", "limit=1", 400), HasSubstr("limit is given twice"));
  EXPECT_THAT(fault("text=a", "top=3", 400), HasSubstr("top"));
  EXPECT_THAT(fault("text=a&project=none", "", 404), HasSubstr("model is 'none'"));
  EXPECT_THAT(fault("text=a%", "", 400), StartsWith("body: '%'"));
  for (const auto& [model, rows] :
       {std::pair{"numbers", "numbers"}, {"records", "records"}, {"tags", "sentences"}}) {
    EXPECT_EQ(fault("text=a", concat("model=", std::string_view(model)), 400),
              concat("model ", std::string_view(model), " takes ", std::string_view(rows),
                     ", but /model/suggest has texts only; POST /predict takes all rows"));
  }
  const Response typed = served.post("/model/suggest", R"({"text":"a"})");
  EXPECT_EQ(typed.status, 415);
  EXPECT_EQ(std::string(parsed(typed)["error"]),
            "content type is 'application/json', but must be application/x-www-form-urlencoded");
  EXPECT_EQ(served.get("/model/suggest").status, 405);
}

TEST(Service, suggestions_need_probabilities) {
  ModelParts parts = testing::small_text_model();
  parts.calibration.reset();
  const Suggested refused =
      suggested_by(std::make_shared<const ServedModel>("m", std::move(parts)));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(std::string(refused.body["error"]), HasSubstr("probabilit"));
}

TEST(Service, model_says_what_annif_asks) {
  const SmallService served;
  const json described = parsed(served.get("/model", "model=texts"));
  EXPECT_EQ(described["is_trained"], true);
  EXPECT_TRUE(described["modification_time"].is_null());
}

TEST(Service, explanation_adds_up) {
  const SmallService served;
  const json answer = parsed(served.post("/explain", R"({"row":"1:2","label":"dog"})"));
  EXPECT_EQ(answer["labels"], json::array({"cat"}));
  const json& explained = answer["explanations"][0];
  EXPECT_EQ(explained["label"], "dog");
  double sum = 0;
  for (const json& node : explained["nodes"]) sum += node["score"].get<double>();
  EXPECT_NEAR(sum, explained["score"].get<double>(), 1e-9);
}

TEST(Service, errors_have_their_status) {
  const SmallService served;
  const auto status = [&](std::string_view path, std::string_view body) {
    const Response response = served.post(path, body);
    EXPECT_EQ(parsed(response).size(), 1U) << response.body;
    EXPECT_TRUE(parsed(response)["error"].is_string());
    return response.status;
  };
  EXPECT_EQ(status("/predict", "{"), 400);
  EXPECT_EQ(status("/predict", R"({"row":"x y"})"), 400);
  EXPECT_EQ(status("/predict", R"({"row":"","model":"none"})"), 404);
  EXPECT_EQ(status("/nothing", "{}"), 404);
  EXPECT_EQ(status("/model", "{}"), 405);
  EXPECT_EQ(served.get("/predict").allow, "POST");
  EXPECT_EQ(served.service()
                .answer({"POST", "/predict", "", "text/plain", R"({"row":""})"}, Deadline::max())
                .status,
            415);
  EXPECT_EQ(served.service()
                .answer({"POST", "/predict", "", "application/json", R"({"row":""})"}, Deadline())
                .status,
            504);
}

TEST(Service, rows_without_finite_scores_are_named) {
  const SmallService served;
  const char* const rows = R"({"rows":["1:2","1:3e38"],"scores":true})";
  const Response response = served.post("/predict", rows);
  EXPECT_EQ(response.status, 400);
  EXPECT_THAT(response.body, HasSubstr("row:2: the scores are not finite numbers"));
  const Response explained = served.post("/explain", R"({"row":"1:3e38","label":"dog"})");
  EXPECT_EQ(explained.status, 400);
  EXPECT_THAT(explained.body, HasSubstr("row:1: the scores are not finite numbers"));
}

TEST(Service, media_types_have_parameters_and_capitals) {
  const SmallService served;
  const Request request{"POST", "/predict", "", "Application/JSON; charset=utf-8", R"({"row":""})"};
  EXPECT_EQ(served.service().answer(request, Deadline::max()).status, 200);
  EXPECT_TRUE(is_stream("POST", "/predict", "application/x-ndjson; charset=utf-8"));
  EXPECT_FALSE(is_stream("POST", "/explain", "application/x-ndjson"));
}

TEST(Service, metrics_have_counts_and_gauges) {
  const SmallService served;
  served.post("/predict", R"({"rows":["1:1","2:1"]})");
  const std::string text = served.get("/metrics").body;
  EXPECT_THAT(text, HasSubstr("margrove_rows_total{model=\"numbers\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("margrove_connections 4\n"));
  EXPECT_THAT(text, HasSubstr("margrove_info{version=\"1.2.3\"} 1\n"));
}

void answer_all(PredictStream& stream, std::string& answers) {
  while (stream.has_lines()) stream.answer(Deadline::max(), answers);
}

TEST(PredictStream, parts_may_end_anywhere) {
  const SmallService served;
  const std::string body = "\"1:2\"\r\n\n{\"features\":{\"2\":1}}\n\"3:1\"";
  std::string whole;
  PredictStream at_once(served.service(), "scores=1", 1000);
  at_once.take(body);
  at_once.finish();
  answer_all(at_once, whole);
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), 3);
  for (std::size_t size = 1; size < body.size(); ++size) {
    PredictStream stream(served.service(), "scores=1", 1000);
    std::string answers;
    for (std::size_t at = 0; at < body.size(); at += size) {
      stream.take(std::string_view(body).substr(at, size));
      answer_all(stream, answers);
    }
    stream.finish();
    answer_all(stream, answers);
    EXPECT_EQ(answers, whole) << size;
  }
}

TEST(PredictStream, wrong_line_throws_after_the_answers_before_it) {
  const SmallService served;
  PredictStream stream(served.service(), "", 1000);
  std::string answers;
  try {
    stream.take("\"1:1\"\n\n\"2:1\"\n\"x y\"\n\"1:1\"\n");
    answer_all(stream, answers);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), StartsWith("line:4:"));
  }
  EXPECT_EQ(std::count(answers.begin(), answers.end(), '\n'), 2);
  PredictStream shorter(served.service(), "", 10);
  shorter.take("\"12345678901");
  EXPECT_THROW(answer_all(shorter, answers), StatusError);
  PredictStream whole(served.service(), "", 10);
  whole.take("\"1:1\"\n\"12345678901\"\n");
  EXPECT_THROW(answer_all(whole, answers), StatusError);
  PredictStream late(served.service(), "", 10);
  late.take("\"1:1\"\n");
  EXPECT_THROW(late.answer(Deadline(), answers), StatusError);
  EXPECT_THROW(PredictStream(served.service(), "top=0", 10), InvalidOption);
}

TEST(ModelFile, names_are_given_or_those_of_the_files) {
  EXPECT_EQ(parse_model_file("a/b.c.model").name, "b.c");
  EXPECT_EQ(parse_model_file("x=a/b=c.model").name, "x");
  EXPECT_EQ(parse_model_file("x=a/b=c.model").path, "a/b=c.model");
  EXPECT_EQ(parse_model_file("a/b=c/d.model").path, "a/b=c/d.model");
  for (const char* wrong : {"x=", "", "a b.model", "/"}) {
    EXPECT_THROW(parse_model_file(wrong), InvalidOption) << wrong;
  }
}

TEST(ServedModels, reload_swaps_and_keeps_what_cannot_be_read) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "m";
  save_model(testing::small_model(), path);
  const ::utimbuf written{1'000'000'000, 1'000'000'000};
  ASSERT_EQ(::utime(path.c_str(), &written), 0);
  ServedModels models({{"m", path}});
  const auto old = models.find("m");
  EXPECT_EQ(utc_text(old->modification_time().value()), "2001-09-09T01:46:40Z");
  EXPECT_TRUE(models.reload()[0].error.empty());
  const auto fresh = models.find("");
  EXPECT_NE(old, fresh);
  std::filesystem::resize_file(path, 20);
  EXPECT_THAT(models.reload("m")[0].error, HasSubstr(path));
  EXPECT_EQ(models.find("m"), fresh);
  EXPECT_EQ(old->parts().labels.size(), 4U);
}

}  // namespace
}  // namespace margrove::serve
