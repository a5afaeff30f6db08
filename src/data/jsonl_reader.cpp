#include "data/jsonl_reader.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "data/column_patterns.hpp"
#include "data/json_text.hpp"
#include "data/record_builder.hpp"
#include "data/row_parts.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::Line;

/// The key of the present value, after the keys above it and dots.
class KeyPath {
 public:
  void clear() {
    text_.clear();
    prefixes_.clear();
  }
  void open_object() { prefixes_.push_back(text_.size()); }
  void close_object() {
    text_.resize(prefixes_.back());
    prefixes_.pop_back();
  }
  void set(std::string_view key) {
    text_.resize(prefixes_.back());
    if (prefixes_.size() > 1) text_ += '.';
    text_ += key;
  }
  const std::string& text() const { return text_; }
  /// That of the innermost object.
  std::string above() const { return text_.substr(0, prefixes_.back()); }

 private:
  std::string text_;
  std::vector<std::size_t> prefixes_;  // of the objects around it
};

/// Collects the keys of values, for patterns. What is no record is left to the reader of records.
class KeyEvents : public detail::JsonEvents {
 public:
  void read(const Line& line) {
    path_.clear();
    depth_ = 0;
    parse(line.text, *this);
  }
  /// In the order in which they come first.
  const std::vector<std::string>& keys() const { return keys_; }

  bool null() { return add(); }
  bool boolean(bool) { return add(); }
  bool number_integer(number_integer_t) { return add(); }
  bool number_unsigned(number_unsigned_t) { return add(); }
  bool number_float(number_float_t, const string_t&) { return add(); }
  bool string(string_t&) { return add(); }
  bool start_object(std::size_t) {
    path_.open_object();
    return go_down();
  }
  bool end_object() {
    path_.close_object();
    --depth_;
    return true;
  }
  bool start_array(std::size_t) { return go_down(); }
  bool end_array() {
    --depth_;
    return true;
  }
  bool key(string_t& name) {
    path_.set(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) {
    return false;
  }

 private:
  bool go_down() { return ++depth_ <= detail::kMaxJsonDepth; }
  bool add() {
    if (depth_ > 0 && known_.insert(path_.text()).second) keys_.push_back(path_.text());
    return true;
  }

  KeyPath path_;
  std::size_t depth_ = 0;
  std::set<std::string> known_;
  std::vector<std::string> keys_;
};

/// Keeps the values of a record's selected keys.
class RecordEvents : public detail::JsonEvents {
 public:
  explicit RecordEvents(const std::vector<RecordField>& fields)
      : fields_(fields), record_(fields.size()), seen_in_row_(fields.size()), seen_(fields.size()) {
    for (std::size_t f = 0; f < fields.size(); ++f) fields_of_key_[fields[f].name].push_back(f);
  }

  /// The values are valid until the next call.
  const std::vector<RecordValue>& read(const Line& line) {
    line_ = &line;
    path_.clear();
    depth_ = list_depth_ = 0;
    texts_.clear();
    nested_keys_.clear();
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
    bool is_of_vector = false;  // which has no gaps
    for_field([&](std::size_t f) {
      is_of_vector |= list_depth_ > 0 && fields_[f].role == RecordField::Role::vector;
    });
    return is_of_vector ? add("null") : end_token();
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
    path_.open_object();
    return end_token();
  }
  bool end_object() {
    path_.close_object();
    --depth_;
    for_field([&](std::size_t f) {
      if (nested_keys_.empty()) return;
      line_->fail(nested_place_, "key ", detail::quoted(fields_[f].name),
                  " is a list of objects, but must be a value or a list of values; the keys of "
                  "these are ",
                  list_of_columns(nested_keys_));
    });
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
    const std::string above = list_depth_ > 0 ? path_.above() : std::string();
    path_.set(name);
    if (fields_of_key_.contains(above)) {
      if (nested_keys_.empty()) nested_place_ = place_of_token();
      nested_keys_.push_back(path_.text());
    }
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
    const char* at =
        line_->text.data() + std::clamp<std::size_t>(position, 1, line_->text.size()) - 1;
    line_->fail(detail::is_large_number(error) ? place_of_token() : at,
                detail::json_fault("line", error));
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
    const auto found = fields_of_key_.find(path_.text());
    if (found == fields_of_key_.end()) return;
    for (const std::size_t f : found->second) visit(f);
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
  std::unordered_map<std::string_view, std::vector<std::size_t>> fields_of_key_;
  std::vector<RecordValue> record_;
  std::vector<bool> seen_in_row_, seen_;
  const Line* line_ = nullptr;
  KeyPath path_;
  std::size_t depth_ = 0, list_depth_ = 0;
  std::vector<std::string> nested_keys_;  // of an object in the list of a selected key
  const char* nested_place_ = nullptr;
  std::deque<std::string> texts_;  // that the record refers to
};

class JsonlParser {
 public:
  /// `selection` is that of the options with keys instead of patterns.
  JsonlParser(const std::string& source, const ReadOptions& options,
              const RecordSelection& selection)
      : builder_(source, options, selection), events_(builder_.fields()) {}

  void parse_line(const Line& line) {
    if (line.text.find_first_not_of(" \t") == std::string_view::npos) return;
    const std::vector<RecordValue>& record = events_.read(line);
    require_some_key(line);
    builder_.add(record, {line.number, 1});
  }
  void count_with(WorkMeter& meter) { builder_.count_with(meter); }
  std::size_t num_rows() const { return builder_.num_rows(); }
  Examples finish() { return builder_.finish(); }

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
    if (names.empty()) return;  // the features are elsewhere
    line.fail(line.text.data(), "the record has none of the keys ", names,
              ", but must have at least one", builder_.vector_hint());
  }

  RecordBuilder builder_;
  RecordEvents events_;
};

/// The selection with keys of the records instead of patterns. `open` gives the lines of the file,
/// which is read for its keys first if the selection has patterns.
template <class Open>
RecordSelection selected_keys(const ReadOptions& options, const Open& open) {
  const RecordSelection& given = *options.selection;
  const auto has_pattern = [](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, is_column_pattern);
  };
  if (options.patterns == nullptr ||
      !(has_pattern(given.text) || has_pattern(given.numeric) || has_pattern(given.categorical) ||
        has_pattern(given.vectors))) {
    return given;
  }
  LineBlocks blocks = open();
  KeyEvents events;
  detail::for_each_line(blocks, [&](const Line& line) { events.read(line); });
  return expand_patterns(given, *options.patterns, events.keys(), blocks.name());
}

Examples read(LineBlocks blocks, const ReadOptions& options, const RecordSelection& selection,
              RunControl* control) {
  JsonlParser parser(blocks.name(), options, selection);
  parser.count_with(blocks.meter());
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

Examples read_jsonl(const std::string& path, const ReadOptions& options, RunControl* control) {
  const RecordSelection selection = selected_keys(options, [&] {
    require(std::filesystem::is_regular_file(path), path,
            ": patterns of keys need a file, which is read twice; name the keys");
    return detail::row_blocks(open_file(path), path, control);
  });
  return read(detail::row_blocks(open_file(path), path, control), options, selection, control);
}

Examples parse_jsonl(std::string_view bytes, const std::string& name, const ReadOptions& options,
                     RunControl* control) {
  const auto open = [&] { return detail::row_blocks(open_memory(bytes, name), name, control); };
  return read(open(), options, selected_keys(options, open), control);
}

Examples jsonl_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return detail::part_rows(part, name, JsonlParser(name, options, *options.selection));
}

bool starts_like_json(std::string_view start) {
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && start[first] == '{';
}

}  // namespace margrove
