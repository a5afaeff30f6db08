#include "data/input_file.hpp"

#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/memory_limit.hpp"
#include "base/out_of_time.hpp"
#include "data/foreign_forms.hpp"
#include "data/input_descriptor.hpp"
#include "margrove/control.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr std::size_t kLargestBlockBytes = 1 << 20;
constexpr std::size_t kCompressedBlockBytes = 1 << 17;
constexpr std::size_t kFirstBytes = 8192;
constexpr std::size_t kAlwaysHeld = std::size_t{16} << 20U;  // without a look at the memory
constexpr std::uint64_t kMaxExpanded = 100;
constexpr double kPartOfMemory = 1.0 / 8;  // a line is held twice where its buffer grows

constexpr std::string_view kGzipMagic = "\x1f\x8b";
constexpr std::string_view kZstdMagic = "\x28\xb5\x2f\xfd";

class FileBytes final : public ByteSource {
 public:
  explicit FileBytes(const std::string& path) : file_(path, InputDescriptor::Kind::any) {}
  FileBytes(int descriptor, std::string name) : file_(descriptor, std::move(name)) {}
  std::size_t read(std::span<char> out) override {
    const std::size_t count = file_.read(out);
    num_stored_ += count;
    return count;
  }
  std::uint64_t num_stored() const override { return num_stored_; }

 private:
  InputDescriptor file_;
  std::uint64_t num_stored_ = 0;
};

class MemoryBytes final : public ByteSource {
 public:
  explicit MemoryBytes(std::string_view bytes) : size_(bytes.size()), rest_(bytes) {}
  std::size_t read(std::span<char> out) override {
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.data(), count, out.data());
    rest_.remove_prefix(count);
    return count;
  }
  std::uint64_t num_stored() const override { return size_ - rest_.size(); }

 private:
  std::size_t size_;
  std::string_view rest_;
};

/// Returns first the bytes that were read to recognise the format.
class WithPrefix final : public ByteSource {
 public:
  WithPrefix(std::string prefix, std::unique_ptr<ByteSource> source)
      : prefix_(std::move(prefix)), source_(std::move(source)) {}
  std::size_t read(std::span<char> out) override {
    if (used_ == prefix_.size()) return source_->read(out);
    const std::size_t count = std::min(out.size(), prefix_.size() - used_);
    std::copy_n(prefix_.data() + used_, count, out.data());
    used_ += count;
    return count;
  }
  std::uint64_t num_stored() const override { return source_->num_stored(); }

 private:
  std::string prefix_;
  std::size_t used_ = 0;
  std::unique_ptr<ByteSource> source_;
};

/// A gzip file may consist of several members, one after the other (RFC 1952).
class GzipBytes final : public ByteSource {
 public:
  GzipBytes(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)), name_(std::move(name)), input_(kCompressedBlockBytes) {
    if (::inflateInit2(&stream_, MAX_WBITS + 16) != Z_OK) throw std::bad_alloc();
  }
  ~GzipBytes() override { ::inflateEnd(&stream_); }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;

  std::size_t read(std::span<char> out) override {
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1U << 30));
    const uInt room = stream_.avail_out;
    while (stream_.avail_out == room) {
      if (stream_.avail_in == 0) {
        stream_.avail_in = static_cast<uInt>(source_->read(input_));
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
      }
      if (stream_.avail_in == 0) {
        require(between_members_, name_, ": the gzip stream ends before it is complete");
        return 0;
      }
      between_members_ = false;
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      if (result == Z_STREAM_END) {
        between_members_ = true;
        ::inflateReset(&stream_);
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        throw InvalidInput(concat(name_, ": the gzip stream is damaged: ",
                                  stream_.msg ? stream_.msg : "not a gzip stream"));
      }
    }
    return room - stream_.avail_out;
  }
  std::uint64_t num_stored() const override { return source_->num_stored(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> input_;
  z_stream stream_{};
  bool between_members_ = true;
};

class ZstdBytes final : public ByteSource {
 public:
  ZstdBytes(std::unique_ptr<ByteSource> source, std::string name)
      : source_(std::move(source)),
        name_(std::move(name)),
        input_(kCompressedBlockBytes),
        stream_(::ZSTD_createDStream(), ::ZSTD_freeDStream) {
    if (!stream_) throw std::bad_alloc();
  }

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (to.pos == 0) {
      if (from_.pos == from_.size && !more_to_flush_) {
        from_ = {input_.data(), source_->read(input_), 0};
        if (from_.size == 0) {
          require(between_frames_, name_, ": the zstd stream ends before it is complete");
          return 0;
        }
      }
      const std::size_t result = ::ZSTD_decompressStream(stream_.get(), &to, &from_);
      require(!::ZSTD_isError(result), name_,
              ": the zstd stream is damaged: ", ::ZSTD_getErrorName(result));
      between_frames_ = result == 0;
      more_to_flush_ = to.pos == to.size && !between_frames_;
    }
    return to.pos;
  }
  std::uint64_t num_stored() const override { return source_->num_stored(); }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::vector<char> input_;
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> stream_;
  ZSTD_inBuffer from_{nullptr, 0, 0};
  bool between_frames_ = true;
  bool more_to_flush_ = false;
};

std::unique_ptr<ByteSource> decompressed(std::unique_ptr<ByteSource> source, std::string name) {
  // Also what a reader sees first, by which it may recognise a format.
  std::vector<char> magic(kFirstBytes);
  std::size_t size = 0;
  const auto starts_like = [&](std::string_view form) {
    return form.starts_with(std::string_view(magic.data(), std::min(size, form.size())));
  };
  // Waits for no byte that it does not need: a client may send the next one after an answer only.
  while (size < kZstdMagic.size() && (starts_like(kGzipMagic) || starts_like(kZstdMagic))) {
    const std::size_t count = source->read(std::span(magic).subspan(size));
    if (count == 0) break;
    size += count;
  }
  const std::string_view start(magic.data(), size);
  auto whole = std::make_unique<WithPrefix>(std::string(start), std::move(source));
  if (start.starts_with(kGzipMagic)) {
    return std::make_unique<GzipBytes>(std::move(whole), std::move(name));
  }
  if (start.starts_with(kZstdMagic)) {
    return std::make_unique<ZstdBytes>(std::move(whole), std::move(name));
  }
  return whole;
}
}  // namespace

std::unique_ptr<ByteSource> open_file(const std::string& path) {
  return decompressed(std::make_unique<FileBytes>(path), path);
}

std::unique_ptr<ByteSource> open_standard_input() {
  const int descriptor = ::dup(STDIN_FILENO);
  require(descriptor >= 0, "standard input: cannot read: ", std::generic_category().message(errno));
  return decompressed(std::make_unique<FileBytes>(descriptor, "standard input"), "standard input");
}

std::unique_ptr<ByteSource> open_memory(std::string_view bytes, std::string name) {
  return decompressed(std::make_unique<MemoryBytes>(bytes), std::move(name));
}

std::string_view name_uncompressed(std::string_view name) {
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (name.ends_with(compressed)) name.remove_suffix(compressed.size());
  }
  return name;
}

void end_reading(const std::string& name) {
  throw OutOfTimeLimit(concat(name, ": the time limit ended reading; nothing is trained"));
}

LineBlocks::LineBlocks(std::unique_ptr<ByteSource> source, std::string name, RunControl* control,
                       Questions questions)
    : source_(std::move(source)),
      name_(std::move(name)),
      control_(control),
      questions_(questions),
      memory_(control == nullptr ? nullptr
                                 : std::make_unique<MemoryWatch>(name_, control->memory_limit())),
      meter_(control, memory_.get()) {}

bool LineBlocks::next() {
  if (std::exchange(stays_, false)) return text_size_ > 0;
  if (memory_) memory_->look();
  if (text_size_ > 0) {  // keep the incomplete line after the last block
    num_lines_ += std::count(text().begin(), text().end(), '\n');
    buffer_[text_size_] = after_text_;
    std::memmove(buffer_.data(), buffer_.data() + text_size_, valid_size_ - text_size_);
    valid_size_ -= text_size_;
    text_size_ = 0;
  }
  read_to_line_end(0);
  if (num_bytes_ == 0) start();
  if (text_size_ == 0) return false;
  after_text_ = buffer_[text_size_];
  buffer_[text_size_] = '\n';
  num_bytes_ += static_cast<std::int64_t>(text_size_);
  return true;
}

bool LineBlocks::extend() {
  const std::size_t old_size = text_size_;
  if (old_size == 0) return false;
  buffer_[old_size] = after_text_;
  read_to_line_end(old_size);
  after_text_ = buffer_[text_size_];
  buffer_[text_size_] = '\n';
  num_bytes_ += static_cast<std::int64_t>(text_size_ - old_size);
  return text_size_ > old_size;
}

bool LineBlocks::may_proceed() const {
  if (questions_ == Questions::within_lines) return control_->proceed();
  return control_->proceed({.stage = "reading", .unit = Progress::Unit::rows});
}

/// Reads until the block is longer than `old_size` bytes or the file is at its end.
void LineBlocks::read_to_line_end(std::size_t old_size) {
  bool asks = questions_ == Questions::before_blocks;
  while (text_size_ == old_size && !at_end_) {
    if (asks && control_ != nullptr && !may_proceed()) end_reading(name_);
    asks = true;
    if (buffer_.size() < valid_size_ + block_bytes_ + 1) {
      buffer_.resize(std::max(2 * valid_size_, valid_size_ + block_bytes_) + 1);
    }
    block_bytes_ = std::min(2 * block_bytes_, kLargestBlockBytes);
    const std::size_t room = buffer_.size() - 1 - valid_size_;
    const std::size_t count = source_->read(std::span(buffer_).subspan(valid_size_, room));
    const std::string_view fresh(buffer_.data() + valid_size_, count);
    const std::size_t newline = fresh.rfind('\n');
    if (newline != std::string_view::npos) text_size_ = valid_size_ + newline + 1;
    valid_size_ += count;
    at_end_ = count == 0;
    if (const std::size_t held = valid_size_ - old_size;
        text_size_ == old_size && held > kAlwaysHeld) {
      const auto before = std::count(buffer_.data(), buffer_.data() + old_size, '\n');
      require_held(held, num_lines_ + before + 1, "the line");
    }
  }
  if (text_size_ == old_size) text_size_ = valid_size_;  // the last line lacks its '\n'
}

void LineBlocks::require_held(std::size_t size, std::int64_t line, std::string_view what) const {
  if (size <= kAlwaysHeld) return;
  const auto require_at_most = [&](double most, const auto&... why) {
    require(static_cast<double>(size) <= most, name_, ":", line, ": ", what, " has ", size,
            " bytes and more, but must have at most ", static_cast<std::uint64_t>(most), ", ",
            why...);
  };
  require_at_most(static_cast<double>(kLongestLine), "as every line; split it into several");
  const std::uint64_t stored = source_->num_stored();
  require_at_most(static_cast<double>(std::max(kMaxExpanded * stored, kAlwaysHeld)), "which are ",
                  kMaxExpanded, " times the ", stored,
                  " compressed bytes read; decompress the file if it is right");
  const double given = control_ == nullptr ? 0 : control_->memory_limit();
  if (given > 0) {
    require_at_most(given * kPartOfMemory, "an eighth of the memory limit");
  } else if (const auto free = free_memory()) {
    require_at_most(free->bytes * kPartOfMemory, "an eighth of ", free->bound);
  }
}

/// Refuses bytes that are no text, and skips the byte order mark.
void LineBlocks::start() {
  detail::refuse_no_text({buffer_.data(), valid_size_}, name_);
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (!text().starts_with(kMark)) return;
  text_size_ -= kMark.size();
  valid_size_ -= kMark.size();
  std::memmove(buffer_.data(), buffer_.data() + kMark.size(), valid_size_);
}

}  // namespace margrove
