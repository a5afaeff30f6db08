// What requests hold, in bytes that operator new gave and did not get back.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>

#include "serve/line_buffer.hpp"
#include "served_models.hpp"

namespace {
std::atomic<std::int64_t> held{0}, most_held{0};

void* counted(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  held += static_cast<std::int64_t>(malloc_usable_size(memory));
  most_held = std::max(most_held.load(), held.load());
  return memory;
}
void give_back(void* memory) {
  if (memory != nullptr) held -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

namespace margrove::serve {
namespace {

/// The most that work() holds beyond what there was before.
template <class Work>
std::int64_t most_held_by(const Work& work) {
  const std::int64_t before = held;
  most_held = before;
  work();
  return most_held - before;
}

std::string repeated(std::string_view text, std::size_t count, std::string_view between = {}) {
  std::string all;
  for (std::size_t k = 0; k < count; ++k) {
    if (k > 0) all += between;
    all += text;
  }
  return all;
}

TEST(ServiceMemory, is_at_most_a_hundred_times_the_bytes_of_a_body) {
  const testing::SmallService served;
  constexpr std::int64_t kFixed = 1'000'000;
  const std::string words = repeated("sea fur ", 40'000);
  std::string distinct, features;
  for (std::size_t k = 1; k <= 40'000; ++k) {
    distinct += concat(k, " ");
    features += concat(k > 1 ? "," : "", "\"", k, "\":1");
  }
  struct Case {
    std::string name, path, body;
  };
  for (const auto& [name, path, body] : {
           Case{"empty rows", "/predict",
                R"({"model":"texts","rows":[)" + repeated("\"\"", 200'000, ",") + "]}"},
           Case{"short rows", "/predict",
                R"({"model":"numbers","rows":[)" + repeated("\"1:1\"", 100'000, ",") + "]}"},
           Case{"all that can be asked for", "/predict",
                R"({"model":"texts","top":100000,"scores":true,"show":"path","rows":[)" +
                    repeated("\"sea\"", 100'000, ",") + "]}"},
           Case{"records", "/predict",
                R"({"model":"records","rows":[)" + repeated(R"({"size":1})", 50'000, ",") + "]}"},
           Case{"one long text", "/predict", R"({"model":"texts","row":")" + words + "\"}"},
           Case{"one text of many words", "/predict",
                R"({"model":"texts","row":")" + distinct + "\"}"},
           Case{"one row of features", "/predict", R"({"row":{"features":{)" + features + "}}}"},
           Case{"explained", "/explain",
                R"({"model":"texts","features":1000,"row":")" + words + "\"}"},
           Case{"explained features", "/explain", R"({"row":{"features":{)" + features + "}}}"},
           Case{"form", "/model/suggest", "project=texts&limit=1000&text=" + words},
           Case{"form of control characters", "/model/suggest",
                "project=texts&text=" + repeated("\x01", 300'000)},
           Case{"fields of a form", "/model/suggest", repeated("a&limit&", 100'000)},
           Case{"commas", "/predict", repeated(",", 100'000)},
           Case{"options", "/predict", "{" + repeated("\"a\":1", 100'000, ",") + "}"},
       }) {
    const std::int64_t bytes = most_held_by([&, &path = path, &body = body] {
      const bool is_form = path == "/model/suggest";
      const Response response = is_form ? served.post_form(path, body) : served.post(path, body);
      EXPECT_GT(response.memory.bytes() + 1'000, response.body.size());
    });
    EXPECT_LT(bytes, 100 * static_cast<std::int64_t>(body.size()) + kFixed)
        << name << ": " << body.size() << " bytes";
    RecordProperty(name, static_cast<int>(bytes / static_cast<std::int64_t>(body.size())));
    EXPECT_EQ(served.service().memory().in_use(), 0U) << name;
  }
}

// Tokens have many features, and parsers tables of all pairs of words.
TEST(ServiceMemory, of_sentences_is_at_most_what_they_take_of_the_budget) {
  const testing::SmallService served;
  for (const auto& [model, num_tokens] : {std::pair{"tags", 20'000}, std::pair{"trees", 1'000}}) {
    ServedModels models({std::make_shared<const ServedModel>(
        "m",
        testing::small_sentence_model(model == std::string("tags") ? "chain" : "dependency"))});
    const std::string body =
        R"({"row":[)" + repeated("\"b\"", static_cast<std::size_t>(num_tokens), ",") + "]}";
    const std::size_t estimate =
        models.find("")->sentences()->bytes_of_sentence(static_cast<std::size_t>(num_tokens)) +
        100 * body.size();
    const std::int64_t bytes = most_held_by([&, &name = model] {
      const Response response =
          served.post("/predict", body, concat("model=", std::string_view(name)));
      EXPECT_EQ(response.status, 200) << response.body;
    });
    EXPECT_LT(bytes, static_cast<std::int64_t>(estimate)) << model;
    EXPECT_GT(bytes, static_cast<std::int64_t>(estimate / 5)) << model;
    EXPECT_EQ(served.service().memory().in_use(), 0U) << model;
  }
}

TEST(ServiceMemory, answers_and_requests_beyond_their_bounds_are_refused) {
  const testing::SmallService none;
  ServedModels models({std::make_shared<const ServedModel>("m", testing::small_model())});
  Metrics metrics;
  const Service service(
      models, metrics, "1", [] { return Gauges(); }, [](const std::string&) {}, false,
      {.memory_bytes = 1'000'000, .answer_bytes = 1'000});
  const auto answer = [&](const std::string& body) {
    return service.answer({"POST", "/predict", "", "application/json", body}, Deadline::max());
  };
  EXPECT_EQ(answer(R"({"row":"1:1"})").status, 200);
  const Response long_answer = answer(R"({"rows":[)" + repeated("\"1:1\"", 100, ",") + "]}");
  EXPECT_EQ(long_answer.status, 413);
  EXPECT_NE(long_answer.body.find("max_answer_mb"), std::string::npos);
  const std::string large = R"({"row":")" + repeated("1:1 ", 100'000) + "\"}";
  EXPECT_EQ(answer(large).status, 413);
  EXPECT_NE(answer(large).body.find("memory_limit"), std::string::npos);
  MemoryShare other(service.memory());
  other.resize(999'990);
  EXPECT_EQ(answer(R"({"row":"1:1"})").status, 503);
  other.resize(0);
  EXPECT_EQ(answer(R"({"row":"1:1"})").status, 200);
  EXPECT_EQ(service.memory().in_use(), 0U);
}

TEST(PredictStream, work_for_a_line_does_not_depend_on_the_parts) {
  const testing::SmallService served;
  for (const std::size_t part : {1, 10, 1000}) {
    PredictStream stream(served.service(), "", 2'000'000);
    std::string answers;
    const std::string bytes = repeated("a", part);
    constexpr std::size_t kBytes = 1'000'000;
    for (std::size_t sent = 0; sent < kBytes; sent += part) {
      stream.take(bytes);
      EXPECT_FALSE(stream.has_lines());
    }
    EXPECT_LT(stream.work(), 8 * kBytes) << part;
    EXPECT_TRUE(stream.is_within_line());
  }
}

TEST(PredictStream, answers_come_in_pieces) {
  const testing::SmallService served;
  PredictStream stream(served.service(), "", 1000);
  stream.take(repeated("\"\"\n", 20'000));
  std::size_t lines = 0, pieces = 0;
  while (stream.has_lines()) {
    std::string answers;
    stream.answer(Deadline::max(), answers);
    EXPECT_LT(answers.size(), 80'000U);
    lines += static_cast<std::size_t>(std::count(answers.begin(), answers.end(), '\n'));
    ++pieces;
  }
  EXPECT_EQ(lines, 20'000U);
  EXPECT_GT(pieces, 2U);
  EXPECT_LT(stream.work(), 10U * 60'000U);
}

TEST(LineBuffer, lines_are_whole_wherever_parts_end) {
  LineBuffer lines;
  lines.append("ab");
  EXPECT_FALSE(lines.next());
  lines.append("c\n\nd");
  EXPECT_EQ(lines.next(), "abc");
  EXPECT_EQ(lines.next(), "");
  EXPECT_FALSE(lines.next());
  lines.finish();
  EXPECT_EQ(lines.next(), "d");
  lines.finish();
  EXPECT_FALSE(lines.next());
}

}  // namespace
}  // namespace margrove::serve
