#pragma once
// Bytes and lines of data files: plain, gzip or zstd, recognised by their first bytes.

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/memory_limit.hpp"
#include "base/work_meter.hpp"
#include "margrove/errors.hpp"
#include "margrove/sentences.hpp"

namespace margrove {

/// Decompressed bytes from front to back, in bounded memory however large the file is.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Writes to the front of `out` and returns the number of bytes, which is 0 only at the end.
  /// Throws InvalidInput naming the source when it cannot be read or its compressed stream is
  /// damaged or truncated.
  virtual std::size_t read(std::span<char> out) = 0;
  /// Bytes taken so far from the file or memory below, which may be compressed.
  virtual std::uint64_t num_stored() const = 0;
};

/// The most bytes of a line, and of everything else that is held as a whole before it is
/// understood, such as a quoted cell of several lines.
inline constexpr std::size_t kLongestLine = std::size_t{256} << 20U;

/// Opens a file. Throws InvalidInput naming `path` if that fails or it is a folder.
std::unique_ptr<ByteSource> open_file(const std::string& path);
/// Standard input, of which read() returns what has come.
std::unique_ptr<ByteSource> open_standard_input();
/// Reads `bytes`, which must outlive the source and may be compressed too; `name` is for messages.
std::unique_ptr<ByteSource> open_memory(std::string_view bytes, std::string name);
/// A name without the ".gz" or ".zst" at its end, so that its extension is that of the content.
std::string_view name_uncompressed(std::string_view name);

/// Where examples come from: a file, text in memory that is read as one, or sentences in memory.
class ExampleSource {
 public:
  template <std::convertible_to<std::string> Path>
  ExampleSource(const Path& path) : name_(path) {}  // NOLINT(google-explicit-constructor)
  // What is in memory must outlive the object; `name` is for messages.
  ExampleSource(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}
  /// Messages count sentences from `first`; if there is none, `name` says which one it is.
  ExampleSource(std::span<const Sentence> sentences, std::string name,
                std::optional<std::size_t> first = {})
      : sentences_(sentences), name_(std::move(name)), first_(first) {}

  /// Throws as open_file(), and InvalidInput for sentences.
  std::unique_ptr<ByteSource> open() const {
    require(!sentences_, name_,
            ": sentences are given, but examples of this kind are read from files");
    return text_ ? open_memory(*text_, name_) : open_file(name_);
  }
  const std::optional<std::span<const Sentence>>& sentences() const { return sentences_; }
  const std::string& name() const { return name_; }
  /// In messages: "sentence 2", or "the sentence" without `first`.
  std::string sentence_name(std::size_t sentence) const {
    return first_ ? concat("sentence ", *first_ + sentence) : "the sentence";
  }
  /// "sentence 2, token 0", or "token 1" without `first`.
  std::string token_name(std::size_t sentence, std::size_t token) const {
    if (!first_) return concat("token ", token + 1);
    return concat(sentence_name(sentence), ", token ", *first_ + token);
  }

 private:
  std::optional<std::string_view> text_;
  std::optional<std::span<const Sentence>> sentences_;
  std::string name_;
  std::optional<std::size_t> first_;
};

/// Throws OutOfTimeLimit: the control asked to end while `name` was read.
[[noreturn]] void end_reading(const std::string& name);

/// What read() returns. Where a meter of a control ends it within a line, throws as end_reading().
template <class Read>
auto read_in_time(const std::string& name, const Read& read) {
  try {
    return read();
  } catch (const OutOfTime&) {
    end_reading(name);
  }
}

/// Splits a source into blocks of whole lines. A byte order mark at its start is skipped.
class LineBlocks {
 public:
  /// When the control is asked. before_blocks: with a report. within_lines: only where a line is
  /// longer than a block, without a report, for readers that ask after each block themselves.
  enum class Questions { before_blocks, within_lines };
  /// `control` may be null. Its memory limit bounds lines, and what the process takes from here on:
  /// next() and the meter throw InvalidInput where that is more.
  LineBlocks(std::unique_ptr<ByteSource> source, std::string name, RunControl* control = nullptr,
             Questions questions = Questions::before_blocks);

  /// Moves to the next block; false at the end. Memory: one block, or the longest line. Throws
  /// InvalidInput for bytes that are no UTF-8 text at all, such as UTF-16 and archives, and
  /// OutOfTimeLimit where the control asks to end, and "file:line: ..." for a line that
  /// require_held() refuses.
  bool next();
  /// Adds the lines after the present block to it; false if there are none. Throws as next().
  bool extend();
  /// Lets the next call of next() stay at this block, after a look at it.
  void stay() { stays_ = true; }
  /// Whole lines; only the file's last one may lack its '\n'. The byte after the end may be read
  /// and is '\n'. The text is valid until the next call of next(), and never empty after it
  /// returned true.
  std::string_view text() const { return {buffer_.data(), text_size_}; }
  const std::string& name() const { return name_; }
  /// Counts work within a line, for read_in_time().
  WorkMeter& meter() { return meter_; }
  /// Decompressed bytes of all blocks so far.
  std::int64_t num_bytes() const { return num_bytes_; }
  /// Throws InvalidInput unless `size` bytes of this source may be held for `what`, which begins at
  /// the line. They are at most kLongestLine and an eighth of the memory
  /// (RunControl::limit_memory()), and beyond the first few MiB at most 100 times what they take in
  /// the file, so that a small compressed file cannot take much memory.
  void require_held(std::size_t size, std::int64_t line, std::string_view what) const;

 private:
  void read_to_line_end(std::size_t old_size);
  /// Asks the control, which is not null.
  bool may_proceed() const;
  void start();

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  RunControl* control_;
  Questions questions_;
  std::unique_ptr<MemoryWatch> memory_;  // null without a control
  WorkMeter meter_;
  std::vector<char> buffer_;
  std::size_t block_bytes_ = 8192;  // grows, so that small files take little memory
  std::size_t text_size_ = 0;       // the block
  std::size_t valid_size_ = 0;      // the block and the start of the line after it
  char after_text_ = '\n';          // the byte that the closing '\n' replaces
  bool at_end_ = false;
  bool stays_ = false;
  std::int64_t num_bytes_ = 0;
  std::int64_t num_lines_ = 0;  // of the blocks before the present one
};

}  // namespace margrove
