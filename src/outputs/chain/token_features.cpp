#include "outputs/chain/token_features.hpp"

#include <algorithm>
#include <iterator>

#include "base/text_slots.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::string_view kPairBefore = "w-1w", kPairBehind = "ww+1";

bool is_word_pair(std::string_view name) {
  const std::string_view kind = name.substr(0, name.find('='));
  return kind == kPairBefore || kind == kPairBehind;
}

/// A token with each of its neighbours.
template <class Add>
void add_word_pairs(std::span<const WordForm> forms, std::size_t token, const Add& add) {
  const auto pair = [&](std::size_t first) {
    return concat(forms[first].lower, " ", forms[first + 1].lower);
  };
  if (token > 0) add(kPairBefore, pair(token - 1));
  if (token + 1 < forms.size()) add(kPairBehind, pair(token));
}

/// The clusters of a token and of its neighbours.
template <class Add>
void add_clusters(std::span<const WordForm> forms, std::size_t token, const WordClusters& clusters,
                  const Add& add) {
  static constexpr std::pair<std::size_t, const char*> kSteps[] = {
      {4, "b4"}, {6, "b6"}, {10, "b10"}, {std::string::npos, "b"}};
  const std::size_t first = token > 0 ? token - 1 : token;
  const std::size_t end = std::min(token + 2, forms.size());
  for (std::size_t at = first; at < end; ++at) {
    const std::string* path = clusters.path_of(forms[at].lower);
    if (path == nullptr) continue;
    const char* sign = at == token ? "" : at < token ? "-1" : "+1";
    for (const auto& [steps, kind] : kSteps) {
      add(concat(kind, sign), std::string_view(*path).substr(0, steps));
    }
  }
}

/// The further columns of a token and of its neighbours.
template <class Add>
void add_columns(const ColumnCorpus& corpus, std::size_t sentence, std::size_t token,
                 const VisitFeature& visit, const Add& add) {
  for (std::size_t column = 1; column < corpus.num_columns; ++column) {
    const std::string& cell = corpus.cell(sentence, token, column);
    if (const auto numeric = numeric_cell(cell)) {
      if (numeric->value != 0.0F) {
        visit(concat("c", column, ":", numeric->name), numeric->value);
      }
      continue;
    }
    add(concat("c", column), cell);
    if (token > 0) add(concat("c", column, "-1"), corpus.cell(sentence, token - 1, column));
    if (token + 1 < corpus.num_tokens(sentence)) {
      add(concat("c", column, "+1"), corpus.cell(sentence, token + 1, column));
    }
  }
}

}  // namespace

std::vector<WordForm> forms_of(const ColumnCorpus& corpus, std::size_t sentence,
                               Alphabet alphabet) {
  std::vector<WordForm> forms;
  for (std::size_t t = 0; t < corpus.num_tokens(sentence); ++t) {
    forms.push_back(word_form(corpus.cell(sentence, t, 0), alphabet));
  }
  return forms;
}

void token_features(const ColumnCorpus& corpus, std::size_t sentence, std::size_t token,
                    std::span<const WordForm> forms, const TokenTemplates& templates,
                    const VisitFeature& visit) {
  const std::string& word = corpus.cell(sentence, token, 0);
  const WordForm& form = forms[token];
  std::string name;
  const auto add = [&](std::string_view kind, std::string_view value) {
    name.assign(kind);
    name += '=';
    name += value;
    visit(name, 1.0F);
  };
  visit("bias", 1.0F);
  add("w", form.lower);
  add("form", word);
  add("s", form.shape);
  for (int count = 1; count <= 4; ++count) {
    const std::string digit = std::to_string(count);
    if (const auto text = affix(form.lower, count, false); !text.empty()) add("p" + digit, text);
    if (const auto text = affix(form.lower, count, true); !text.empty()) add("e" + digit, text);
  }
  if (form.starts_upper) visit(token == 0 ? "first-upper" : "upper", 1.0F);
  if (form.is_upper) visit("all-upper", 1.0F);
  if (form.has_digit) visit("digit", 1.0F);
  if (word.find('-') != std::string::npos) visit("hyphen", 1.0F);
  static constexpr std::pair<int, const char*> kNeighbours[] = {
      {-2, "-2"}, {-1, "-1"}, {1, "+1"}, {2, "+2"}};
  for (const auto& [distance, sign] : kNeighbours) {
    const auto at = static_cast<std::ptrdiff_t>(token) + distance;
    if (at < 0 || at >= std::ssize(forms)) {
      if (distance == -1 || distance == 1) add(std::string("edge") + sign, "");
      continue;
    }
    const WordForm& other = forms[static_cast<std::size_t>(at)];
    add(std::string("w") + sign, other.lower);
    add(std::string("s") + sign, other.shape);
  }
  if (templates.word_pairs) add_word_pairs(forms, token, add);
  if (templates.clusters != nullptr && !templates.clusters->is_empty()) {
    add_clusters(forms, token, *templates.clusters, add);
  }
  add_columns(corpus, sentence, token, visit, add);
}

FeatureTable::FeatureTable(std::vector<std::string> names, Alphabet alphabet, WordClusters clusters)
    : names_(std::move(names)),
      alphabet_(alphabet),
      has_word_pairs_(std::ranges::any_of(names_, is_word_pair)),
      clusters_(std::move(clusters)) {
  for (std::uint32_t id = 0; id < size(); ++id) add_number(slots_, id, id + 1, ListedTexts{names_});
}

FeatureTable FeatureTable::collect(const ColumnCorpus& corpus, int min_count, bool word_pairs,
                                   WordClusters clusters) {
  const Alphabet alphabet = alphabet_of(corpus);
  FeatureTable table;
  std::vector<int> counts;
  const VisitFeature count = [&](std::string_view name, float) {
    const std::uint32_t id = table.add(name);
    if (id == counts.size()) counts.push_back(0);
    ++counts[id];
  };
  for (std::size_t i = 0; i < corpus.sentences.size(); ++i) {
    const std::vector<WordForm> forms = forms_of(corpus, i, alphabet);
    for (std::size_t t = 0; t < forms.size(); ++t) {
      token_features(corpus, i, t, forms, {word_pairs, &clusters}, count);
    }
  }
  std::size_t id = 0;
  std::erase_if(table.names_, [&](const std::string& name) {
    return counts[id++] < (is_word_pair(name) ? std::max(2, min_count) : min_count);
  });
  return FeatureTable(std::move(table.names_), alphabet, std::move(clusters));
}

std::optional<std::uint32_t> FeatureTable::find(std::string_view name) const {
  const std::uint32_t id = find_number(slots_, name, ListedTexts{names_});
  return id != kFreeSlot ? std::optional(id) : std::nullopt;
}

std::uint32_t FeatureTable::add(std::string_view name) {
  if (const auto known = find(name)) return *known;
  const std::uint32_t id = size();
  names_.emplace_back(name);
  add_number(slots_, id, names_.size(), ListedTexts{names_});
  return id;
}

SequenceData FeatureTable::encode(const ColumnCorpus& corpus, std::uint32_t outside_tag) const {
  SequenceData data;
  data.num_tags = static_cast<std::uint32_t>(corpus.tags.size());
  data.outside_tag = outside_tag;
  data.X = CsrMatrix(size());
  std::vector<std::pair<FeatureId, float>> entries;
  const VisitFeature enter = [&](std::string_view name, float value) {
    if (const auto id = find(name)) entries.push_back({*id, value});
  };
  std::vector<FeatureId> columns;
  std::vector<float> values;
  for (std::size_t i = 0; i < corpus.sentences.size(); ++i) {
    const std::vector<WordForm> forms = forms_of(corpus, i, alphabet_);
    for (std::size_t t = 0; t < forms.size(); ++t) {
      entries.clear();
      token_features(corpus, i, t, forms, {has_word_pairs_, &clusters_}, enter);
      std::sort(entries.begin(), entries.end());
      columns.clear();
      values.clear();
      for (const auto& [column, value] : entries) {
        if (!columns.empty() && columns.back() == column) continue;
        columns.push_back(column);
        values.push_back(value);
      }
      data.X.append_row(columns, values);
      const auto& tags = corpus.sentences[i].tags;
      data.tags.push_back(tags.empty() ? 0 : tags[t]);
    }
    data.pointers.push_back(data.tags.size());
  }
  return data;
}

}  // namespace margrove
