#include "outputs/tree/conllu_reader.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>

#include "data/sentence_lines.hpp"

namespace margrove {
namespace {
using detail::Line;
using detail::quoted;

/// The ten columns of CoNLL-U.
enum Column : std::size_t {
  kId,
  kForm,
  kLemma,
  kUpos,
  kXpos,
  kFeats,
  kHead,
  kDeprel,
  kDeps,
  kMisc
};
constexpr std::size_t kNumColumns = kMisc + 1;

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}
std::uint32_t to_number(std::string_view digits) {
  std::uint32_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}
/// "3-4" is a token of several words, "3.1" a word that is not in the text.
bool is_range_or_empty_node(std::string_view id) {
  const std::size_t mark = id.find_first_of("-.");
  return mark != std::string_view::npos && is_number(id.substr(0, mark)) &&
         is_number(id.substr(mark + 1));
}

constexpr std::size_t kMaxWords = 2048;
constexpr std::string_view kMissing = "_";

class DependencyParser {
 public:
  explicit DependencyParser(const DependencyOptions& options) : options_(options) {
    if (options.relations != nullptr) corpus.relations = *options.relations;
  }

  void parse_line(const Line& line) {
    if (detail::is_blank_line(line.text)) return end_sentence();
    detail::require_text(line);
    if (line.text.front() == '#') return;
    cells_.clear();
    detail::split_at_tabs(line.text, cells_);
    if (cells_.size() != kNumColumns) {
      line.fail(line.end(), "the line has ", cells_.size(), " columns, but must have ", kNumColumns,
                " separated by tabs");
    }
    const detail::TokenPlace place(line);
    detail::require_filled(place, cells_);
    if (is_range_or_empty_node(cells_[kId])) return;
    const std::size_t next = sentence_.num_words() + 1;
    if (!is_number(cells_[kId]) || to_number(cells_[kId]) != next) {
      line.fail(cells_[kId].data(), "word number is ", quoted(cells_[kId]), ", but must be ", next);
    }
    add(place, std::span(cells_).subspan(kForm, kHead - kForm), cells_[kHead], cells_[kDeprel]);
  }

  void add_token(const detail::TokenPlace& place, const std::vector<std::string_view>& cells) {
    constexpr std::size_t kMaxColumns = kHead - kForm;
    const std::size_t num_answers = options_.has_trees ? 2 : 0;
    if (cells.size() <= num_answers || cells.size() > kMaxColumns + num_answers) {
      place.fail_at_end("the word has ", cells.size(), " columns, but must have at least a form, ",
                        "at most ", kMaxColumns, " columns",
                        options_.has_trees ? ", and its head and relation after them" : "");
    }
    const auto columns = std::span(cells).first(cells.size() - num_answers);
    const bool has_trees = options_.has_trees;
    add(place, columns, has_trees ? cells[columns.size()] : "", has_trees ? cells.back() : "");
  }

  void end_sentence() {
    if (sentence_.num_words() == 0) return;
    if (options_.has_trees) require_tree();
    corpus.sentences.push_back(std::move(sentence_));
    sentence_ = {};
    places_.clear();
  }

  DependencyCorpus corpus;

 private:
  /// `columns`: form, lemma and so on, of which the last ones may be missing.
  void add(const detail::TokenPlace& place, std::span<const std::string_view> columns,
           std::string_view head, std::string_view relation) {
    if (sentence_.num_words() == kMaxWords) {
      place.fail(columns.front().data(), "the sentence has more than ", kMaxWords,
                 " words: a parser takes time in the cube of their number");
    }
    std::vector<std::string>* const fields[] = {
        &sentence_.forms, &sentence_.lemmas, &sentence_.upos, &sentence_.xpos, &sentence_.features};
    for (std::size_t c = 0; c < std::size(fields); ++c) {
      fields[c]->emplace_back(c < columns.size() ? columns[c] : kMissing);
    }
    if (options_.has_trees) add_arc(place, head, relation);
  }

  void add_arc(const detail::TokenPlace& place, std::string_view head, std::string_view relation) {
    if (!is_number(head)) {
      place.fail(head.data(), "head is ", quoted(head), ", but must be the number of a word or 0");
    }
    if (to_number(head) == sentence_.num_words()) {
      place.fail(head.data(), "word ", head, " is its own head, but must have another one");
    }
    if (relation == kMissing) place.fail(relation.data(), "relation is missing");
    sentence_.heads.push_back(to_number(head));
    sentence_.relations.push_back(corpus.relations.add(relation));
    places_.push_back(place.text(head.data()));
  }

  template <class... Parts>
  [[noreturn]] void fail_at_head(std::size_t word, const Parts&... parts) const {
    throw InvalidInput(concat(places_[word], ": ", parts...));
  }

  void require_tree() const {
    const auto& heads = sentence_.heads;
    std::size_t root = heads.size();
    for (std::size_t k = 0; k < heads.size(); ++k) {
      if (heads[k] > heads.size()) {
        fail_at_head(k, "head is ", heads[k], ", but the sentence has ", heads.size(), " words");
      }
      if (heads[k] != 0) continue;
      if (root < heads.size()) {
        fail_at_head(k, "word ", k + 1, " is a second root after word ", root + 1,
                     ", but a sentence must have one");
      }
      root = k;
    }
    if (root == heads.size()) fail_at_head(0, "the sentence has no root, but must have one");
    std::vector<std::size_t> seen_from(heads.size(), heads.size());
    for (std::size_t k = 0; k < heads.size(); ++k) {
      std::size_t word = k;
      while (seen_from[word] == heads.size()) {
        seen_from[word] = k;
        if (heads[word] == 0) break;
        word = heads[word] - 1;
      }
      if (heads[word] != 0 && seen_from[word] == k) {
        fail_at_head(word, "word ", word + 1, " is below itself, but heads must form a tree");
      }
    }
  }

  const DependencyOptions& options_;
  DependencySentence sentence_;
  std::vector<std::string_view> cells_;
  std::vector<std::string> places_;  // of each word's head
};

}  // namespace

DependencyCorpus read_conllu(const ExampleSource& source, const DependencyOptions& options,
                             RunControl* control) {
  return detail::read_sentences(source, control, DependencyParser(options));
}

DependencyCorpus read_conllu_part(const FilePart& part, const std::string& name,
                                  const DependencyOptions& options) {
  return detail::read_part(part, name, DependencyParser(options));
}

DependencyCorpus parse_conllu(std::string_view bytes, const std::string& name,
                              const DependencyOptions& options, RunControl* control) {
  return read_conllu({bytes, name}, options, control);
}

bool is_projective(const std::vector<std::uint32_t>& heads) {
  const auto n = static_cast<std::uint32_t>(heads.size());
  for (std::uint32_t child = 1; child <= n; ++child) {
    const std::uint32_t low = std::min(heads[child - 1], child);
    const std::uint32_t high = std::max(heads[child - 1], child);
    // Arcs of the words strictly inside must stay within [low, high].
    for (std::uint32_t inner = low + 1; inner < high; ++inner) {
      if (heads[inner - 1] < low || heads[inner - 1] > high) return false;
    }
  }
  return true;
}

}  // namespace margrove
