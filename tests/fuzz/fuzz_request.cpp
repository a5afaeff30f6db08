// Any body of a request, as one document and as a stream, gets an answer: one prediction per row,
// or an error that says what is wrong.
#include <nlohmann/json.hpp>

#include "fuzzing.hpp"
#include "serve/request_head.hpp"
#include "served_models.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace margrove;
  using testing::check;
  static const testing::SmallService* const served = new testing::SmallService();
  const std::string_view text = testing::as_text(bytes, size);
  serve::HeadEnd end;
  if (end.is_reached(text)) {
    try {
      serve::check_head(text.substr(0, end.size()));
    } catch (const serve::StatusError& error) {
      check(error.status() == 400 || error.status() == 501, "a head is refused with its status");
    }
  }
  const auto check_answer = [](const serve::Response& response, const char* key) {
    const nlohmann::json answer = nlohmann::json::parse(response.body);
    if (response.status == 200) {
      check(answer.contains(key), "an answer names its model, or has results");
    } else {
      check(response.status == 400 || response.status == 404, "errors are those of the request");
      check(!answer["error"].get<std::string>().empty(), "an error has a message");
    }
  };
  for (const char* path : {"/predict", "/explain"}) check_answer(served->post(path, text), "model");
  check_answer(served->post_form("/model/suggest", text), "results");
  check_answer(served->post_form("/model/suggest", text, "model=texts"), "results");
  for (const char* query :
       {"", "model=texts&top=2", "model=records&probabilities", "model=tags", "model=trees"}) {
    serve::PredictStream stream(served->service(), query, 4096);
    std::string answers;
    try {
      const auto answer = [&] {
        while (stream.has_lines()) stream.answer(serve::Deadline::max(), answers);
      };
      stream.take(text.substr(0, size / 2));
      answer();
      stream.take(text.substr(size / 2));
      stream.finish();
      answer();
    } catch (const InvalidInput& error) {
      check(std::string_view(error.what()).starts_with("line:"), "an error names its line");
    } catch (const serve::StatusError&) {  // a line that is too long
    }
    check(answers.empty() || answers.back() == '\n', "answers are whole lines");
  }
  return 0;
}
