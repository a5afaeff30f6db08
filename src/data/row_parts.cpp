#include "data/row_parts.hpp"

#include <algorithm>

#include "data/vector_file.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::int64_t num_lines(std::string_view text) { return std::count(text.begin(), text.end(), '\n'); }

}  // namespace

RowParts::RowParts(LineBlocks blocks, RowKind kind, const ReadOptions& options)
    : blocks_(std::move(blocks)), options_(options) {
  if (!find_start()) return;
  format_ = &row_format_starting(row_formats(), kind, text_, options.format);
  require(format_->read_part != nullptr, name(), ": rows in format ", format_->name,
          " cannot be read one by one");
  require_vectors_within(*format_, options, name());
  take_header();
  if (!header_.empty()) read({.rows = {}, .header = header_, .lines_before = lines_before_});
}

RowParts::RowParts(LineBlocks blocks, const RowFormat& format) : blocks_(std::move(blocks)) {
  if (!find_start()) return;
  format_ = &format;
  take_header();
}

bool RowParts::find_start() {
  while (blocks_.next()) {
    text_ = blocks_.text();
    if (!is_blank(text_)) return true;
    lines_before_ += num_lines(text_);
  }
  return false;
}

void RowParts::take_header() {
  std::size_t begin = 0;
  for (;;) {  // text_ has a line that is not blank
    const std::size_t newline = std::min(text_.find('\n', begin), text_.size() - 1);
    if (!is_blank(std::string_view(text_).substr(begin, newline + 1 - begin))) break;
    begin = newline + 1;
  }
  lines_before_ += num_lines(std::string_view(text_).substr(0, begin));
  text_.erase(0, begin);
  const std::string_view line = std::string_view(text_).substr(0, text_.find('\n'));
  if (format_->is_header == nullptr || !format_->is_header(line)) return;
  std::size_t size = row_end(text_);
  while (size == std::string_view::npos && blocks_.next()) {
    extend();
    size = row_end(text_);
  }
  header_ = text_.substr(0, size);
  text_.erase(0, header_.size());
  if (!header_.ends_with('\n')) header_ += '\n';
  lines_before_ += num_lines(header_);
}

void RowParts::extend() {
  text_ += blocks_.text();
  blocks_.require_held(text_.size(), lines_before_ + 1, "the row");
}

std::size_t RowParts::row_end(std::string_view text) const {
  if (format_->row_end != nullptr) return format_->row_end(text, header_, options_);
  const std::size_t newline = text.find('\n');
  return newline == std::string_view::npos ? newline : newline + 1;
}

std::size_t RowParts::rows_end(std::string_view text) const {
  if (format_->row_end == nullptr) {
    const std::size_t newline = text.rfind('\n');
    return newline == std::string_view::npos ? 0 : newline + 1;
  }
  std::size_t end = 0;
  while (end < text.size()) {
    const std::size_t size = row_end(text.substr(end));
    if (size == std::string_view::npos) break;
    end += size;
  }
  return end;
}

bool RowParts::next() {
  if (format_ == nullptr) return false;
  lines_before_ += num_lines(rows_);
  text_.erase(0, rows_.size());
  rows_ = {};
  std::size_t size = rows_end(text_);
  while (size == 0) {
    if (!blocks_.next()) {
      if (!text_.empty() && !text_.ends_with('\n')) text_ += '\n';
      size = text_.size();
      break;
    }
    extend();
    size = rows_end(text_);
  }
  rows_ = std::string_view(text_).substr(0, size);
  return size > 0;
}

Examples RowParts::read_all() {
  while (blocks_.next()) text_ += blocks_.text();
  if (!text_.empty() && !text_.ends_with('\n')) text_ += '\n';
  rows_ = text_;
  require(format_ != nullptr && !is_blank(rows_), name(),
          ": the file has no rows, but must have at least one");
  return read(part());
}

FilePart RowParts::first_row(std::size_t begin) const {
  FilePart row = part();
  row.lines_before += num_lines(rows_.substr(0, begin));
  row.rows.remove_prefix(begin);
  row.rows = row.rows.substr(0, row_end(row.rows));
  return row;
}

Examples RowParts::read(const FilePart& part) const {
  Examples rows = format_->read_part(part, name(), options_);
  rows.source = name();
  return rows;
}

}  // namespace margrove
