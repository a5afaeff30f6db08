#include "serve/row_answers.hpp"

#include <algorithm>

#include "data/json_rows.hpp"
#include "methods/training.hpp"
#include "model/finite_scores.hpp"
#include "serve/answer_json.hpp"

namespace margrove::serve {
namespace {

constexpr std::size_t kRowBytesAtOnce = 64 * 1024;
constexpr std::size_t kBytesPerLabel = 300;
constexpr std::size_t kBytesPerSentenceByte = 100;
constexpr std::size_t kBytesPerColumn = 100;

using UseAnswer = std::function<void(std::string_view json)>;

[[noreturn]] void fail_late() { throw StatusError(504, std::string(kLate)); }

/// Of the columns of tokens that are objects, each of which has one for every key.
std::size_t bytes_of_features(std::string_view row,
                              const std::optional<std::vector<std::string>>& keys) {
  if (!keys) return 0;
  std::size_t bytes_of_token = 0;
  for (const std::string& key : *keys) bytes_of_token += 2 * key.size() + kBytesPerColumn;
  return static_cast<std::size_t>(std::ranges::count(row, '{')) * bytes_of_token;
}

/// Calls use(text) for the answers to the sentences in order.
void for_sentences(const ServedModel& model, std::span<const std::string_view> rows,
                   const std::string& source, std::int64_t first, MemoryBudget& memory,
                   Deadline deadline, const UseAnswer& use) {
  for (const std::string_view row : rows) {
    const HeldSentence held = held_sentence(model, row, source, first++, memory);
    RunControl control({}, seconds_until(deadline));
    const auto answers =
        model.sentences()->answers({held.sentence, held.place}, Executor::serial(), control);
    if (control.stop_reason() != Stop::converged) fail_late();
    use(to_text(answer_json(answers.at(0), model.sentences()->answer_columns())));
  }
}

}  // namespace

void require_time(Deadline deadline) {
  if (std::chrono::steady_clock::now() > deadline) fail_late();
}

double seconds_until(Deadline deadline) {
  const std::chrono::duration<double> left = deadline - std::chrono::steady_clock::now();
  return std::max(left.count(), 0.0);
}

CsrMatrix prepared(const ServedModel& model, std::span<const std::string_view> rows,
                   const std::string& source, std::int64_t first) {
  const ModelParts& parts = model.parts();
  const ReadOptions options = read_options(parts);
  return preprocess(
      parts, read_request_rows(row_kind(parts), {rows, source, first, options, parts.views}));
}

std::size_t labels_per_row(const ServedModel& model, const AnswerOptions& options) {
  const std::size_t all = model.parts().labels.size();
  return std::clamp<std::size_t>(static_cast<std::size_t>(options.top), 1,
                                 std::max<std::size_t>(all, 1));
}

std::size_t block_size(std::span<const std::string_view> rows, std::size_t labels) {
  const std::size_t most = std::clamp<std::size_t>(kMaxLabelsOfBlock / labels, 1, kMaxRowsOfBlock);
  std::size_t count = 0;
  for (std::size_t bytes = 0; count < std::min(most, rows.size()); ++count) {
    bytes += rows[count].size();
    if (count > 0 && bytes > kRowBytesAtOnce) break;
  }
  return count;
}

HeldSentence held_sentence(const ServedModel& model, std::string_view row,
                           const std::string& source, std::int64_t number, MemoryBudget& memory) {
  HeldSentence held{MemoryShare(memory), {}, concat(source, ":", number)};
  held.share.resize(kBytesPerSentenceByte * row.size() +
                    bytes_of_features(row, model.parts().token_keys));
  held.sentence[0] = read_request_sentence(row, source, number, model.parts().token_keys);
  held.share.resize(held.share.bytes() +
                    model.sentences()->bytes_of_sentence(held.sentence[0].size()));
  return held;
}

HeldAnswers held_answers(const ServedModel& model, const AnswerOptions& options,
                         std::span<const std::string_view> rows, const std::string& source,
                         std::int64_t first, MemoryBudget& memory) {
  std::size_t bytes = 0;
  for (const std::string_view row : rows) bytes += row.size();
  HeldAnswers held{MemoryShare(memory), {}};
  held.share.resize(kBytesPerRowByte * bytes +
                    kBytesPerLabel * rows.size() * labels_per_row(model, options));
  const CsrMatrix X = prepared(model, rows, source, first);
  held.answers = naming_rows(
      [&](std::size_t row) { return concat(source, ":", first + static_cast<std::int64_t>(row)); },
      [&] {
        return answer_rows(model.parts(), model.hierarchy(), options, X, Executor::serial());
      });
  return held;
}

void for_answers(const ServedModel& model, const AnswerOptions& options,
                 std::span<const std::string_view> rows, const std::string& source,
                 std::int64_t first, MemoryBudget& memory, Deadline deadline,
                 const UseAnswer& use) {
  if (model.sentences() != nullptr) {
    for_sentences(model, rows, source, first, memory, deadline, use);
    return;
  }
  const LabelTexts& texts = model.texts(options.show);
  const HeldAnswers held = held_answers(model, options, rows, source, first, memory);
  for (const Answer& answer : held.answers) use(to_text(answer_json(answer, options, texts)));
}

}  // namespace margrove::serve
