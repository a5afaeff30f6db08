#include "serve/line_buffer.hpp"

#include <algorithm>

namespace margrove::serve {

void LineBuffer::append(std::string_view bytes) {
  if (begin_ >= text_.size() - begin_) {  // at most what was taken out is moved
    work_ += text_.size() - begin_;
    text_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    constexpr std::size_t kKept = 1 << 20;
    if (text_.empty() && text_.capacity() > kKept) text_.shrink_to_fit();
  }
  if (text_.size() + bytes.size() > text_.capacity()) work_ += text_.size();  // it moves
  work_ += bytes.size();
  text_ += bytes;
}

void LineBuffer::finish() {
  if (rest_size() > 0 && text_.back() != '\n') append("\n");
}

bool LineBuffer::has_line() {
  const std::size_t end = std::min(text_.find('\n', scanned_), text_.size());
  work_ += end - scanned_;
  scanned_ = end;
  return end < text_.size();
}

std::optional<std::string_view> LineBuffer::next() {
  if (!has_line()) return std::nullopt;
  const std::string_view line = std::string_view(text_).substr(begin_, scanned_ - begin_);
  begin_ = ++scanned_;
  return line;
}

}  // namespace margrove::serve
