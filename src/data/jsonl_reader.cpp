#include "data/jsonl_reader.hpp"

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <utility>

#include "data/column_patterns.hpp"
#include "data/json_text.hpp"
#include "data/record_builder.hpp"
#include "data/row_parts.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

/// Keeps the values of a record's selected keys.
class RecordEvents : public detail::JsonEvents {
 public:
  explicit RecordEvents(const std::vector<RecordField>& fields)
      : fields_(fields),
        record_(fields.size()),
        seen_in_row_(fields.size()),
        seen_(fields.size()) {}

  /// The values are valid until the next call.
  const std::vector<RecordValue>& read(const Line& line) {
    line_ = &line;
    key_.clear();
    key_prefixes_.clear();
    depth_ = list_depth_ = 0;
    texts_.clear();
    std::fill(record_.begin(), record_.end(), RecordValue());
    std::fill(seen_in_row_.begin(), seen_in_row_.end(), false);
    parse(line.text, *this);
    return record_;
  }
  /// Whether the last record had the field's key.
  bool seen_in_record(std::size_t field) const { return seen_in_row_[field]; }
  /// Whether some record so far had the field's key.
  bool seen(std::size_t field) const { return seen_[field]; }

  bool null() {
    at_value();
    return end_token();
  }
  bool boolean(bool value) { return add(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { return add(text); }
  bool string(string_t& text) { return add(std::move(text)); }

  bool start_object(std::size_t) {
    const char* place = at_value(/*is_object=*/true);
    go_down(place);
    if (depth_ > 1) {
      for_field([&](std::size_t f) {
        if (list_depth_ == 0) {
          line_->fail(place, "key ", detail::quoted(fields_[f].name),
                      " is an object, but must be a value; its keys are named with a dot");
        }
      });
    }
    key_prefixes_.push_back(key_.size());
    return end_token();
  }
  bool end_object() {
    key_.resize(key_prefixes_.back());
    key_prefixes_.pop_back();
    --depth_;
    return end_token();
  }
  bool start_array(std::size_t) {
    const char* place = at_value();
    go_down(place);
    ++list_depth_;
    for_field([&](std::size_t f) {
      if (list_depth_ > 1) {
        line_->fail(place, "key ", detail::quoted(fields_[f].name),
                    " is a list of lists, but must be a value or a list of values");
      }
      record_[f].is_list = true;
    });
    return end_token();
  }
  bool end_array() {
    --list_depth_;
    --depth_;
    return end_token();
  }
  bool key(string_t& name) {
    key_.resize(key_prefixes_.back());
    if (key_prefixes_.size() > 1) key_ += '.';
    key_ += name;
    for_field([&](std::size_t f) {
      if (seen_in_row_[f] && list_depth_ == 0) {
        line_->fail(place_of_token(), "key ", detail::quoted(fields_[f].name),
                    " occurs twice, but must occur once");
      }
      seen_in_row_[f] = seen_[f] = true;
    });
    return end_token();
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    const char* at = line_->text.data() + std::clamp<std::size_t>(position, 1, line_->text.size());
    line_->fail(at - 1, "the line is not JSON", detail::json_reason(error.what()));
  }

 private:
  /// Returns the place of the present token, which must not be the record itself.
  const char* at_value(bool is_object = false) const {
    if (depth_ == 0 && !is_object) {
      line_->fail(line_->text.data(), "the line is not an object {...}, but must be one");
    }
    return place_of_token();
  }
  void go_down(const char* place) {
    if (++depth_ > detail::kMaxJsonDepth) {
      line_->fail(place, "the record is nested more than ", detail::kMaxJsonDepth, " levels deep");
    }
  }
  template <class Visit>
  void for_field(const Visit& visit) const {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (fields_[f].name == key_) visit(f);
    }
  }
  bool add(std::string text) {
    const char* place = at_value();
    for_field([&](std::size_t f) {
      texts_.push_back(text);
      record_[f].is_list = list_depth_ > 0;
      record_[f].items.push_back(
          {texts_.back(), {line_->number, (place - line_->text.data()) + 1}});
    });
    return end_token();
  }

  const std::vector<RecordField>& fields_;
  std::vector<RecordValue> record_;
  std::vector<bool> seen_in_row_, seen_;
  const Line* line_ = nullptr;
  std::string key_;                        // of the present value, with the keys above it
  std::vector<std::size_t> key_prefixes_;  // of the objects around it
  std::size_t depth_ = 0, list_depth_ = 0;
  std::deque<std::string> texts_;  // that the record refers to
};

class JsonlParser {
 public:
  JsonlParser(const std::string& source, const ReadOptions& options)
      : builder_(source, options), events_(builder_.fields()) {
    if (options.patterns != nullptr) refuse_patterns(*options.selection, source);
  }

  void parse_line(const Line& line) {
    if (line.text.find_first_not_of(" \t") == std::string_view::npos) return;
    const std::vector<RecordValue>& record = events_.read(line);
    require_some_key(line);
    builder_.add(record);
  }
  std::size_t num_rows() const { return builder_.num_rows(); }
  RecordDataset finish() { return builder_.finish(); }

  /// Throws InvalidInput if the whole file, which must have been read, lacks a selected key.
  void require_seen(const std::string& source, bool labels_optional) const {
    const std::vector<RecordField>& fields = builder_.fields();
    for (std::size_t f = 0; f < fields.size(); ++f) {
      require(labels_optional || events_.seen(f), source, ": no record has the key '",
              fields[f].name, "'");
    }
  }

 private:
  /// A record may lack some keys. One that has none that it should have is misspelt, and would
  /// otherwise be an example without any feature.
  void require_some_key(const Line& line) const {
    const std::vector<RecordField>& fields = builder_.fields();
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (!fields[f].is_optional && events_.seen_in_record(f)) return;
    }
    std::string names;
    for (const RecordField& field : fields) {
      if (field.is_optional) continue;
      names += concat(names.empty() ? "" : ", ", detail::quoted(field.name));
    }
    line.fail(line.text.data(), "the record has none of the keys ", names,
              ", but must have at least one");
  }

  RecordBuilder builder_;
  RecordEvents events_;
};

RecordDataset read(LineBlocks blocks, const ReadOptions& options, RunControl* control) {
  JsonlParser parser(blocks.name(), options);
  const bool complete = detail::for_each_line(
      blocks, [&](const Line& line) { parser.parse_line(line); },
      [&] { return detail::report_rows(parser.num_rows(), control); });
  if (complete) {
    require(parser.num_rows() > 0, blocks.name(),
            ": the file has no rows, but must have at least one");
    parser.require_seen(blocks.name(), options.labels_optional);
  }
  return parser.finish();
}

}  // namespace

RecordDataset read_jsonl(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read(LineBlocks(open_file(path), path), options, control);
}

RecordDataset parse_jsonl(std::string_view bytes, const std::string& name,
                          const ReadOptions& options, RunControl* control) {
  return read(LineBlocks(open_memory(bytes, name), name), options, control);
}

ReadRows jsonl_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_jsonl(path, options, control);
}

ReadRows jsonl_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return detail::part_rows(part, name, JsonlParser(name, options));
}

bool starts_like_json(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

}  // namespace margrove
