#pragma once
// Lines out of bytes that arrive in parts.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace margrove::serve {

/// Each byte is moved and looked at a bounded number of times, however small the parts are.
class LineBuffer {
 public:
  void append(std::string_view bytes);
  /// After the last bytes: what is left is a line, too, unless it is empty.
  void finish();
  /// The next whole line without its end, valid until the next append().
  std::optional<std::string_view> next();
  bool has_line();
  /// Bytes of what has no end so far, and of all that is held.
  std::size_t rest_size() const { return text_.size() - begin_; }
  std::size_t bytes() const { return text_.capacity(); }
  /// Bytes copied, moved and looked at so far.
  std::uint64_t work() const { return work_; }

 private:
  std::string text_;
  std::size_t begin_ = 0;    // of the next line
  std::size_t scanned_ = 0;  // no line ends between begin_ and here
  std::uint64_t work_ = 0;
};

}  // namespace margrove::serve
