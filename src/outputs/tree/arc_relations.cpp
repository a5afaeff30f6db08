#include "outputs/tree/arc_relations.hpp"

#include <algorithm>

#include "base/simd.hpp"
#include "margrove/errors.hpp"
#include "outputs/tree/hashing.hpp"

namespace margrove {
namespace {
using hashing::kEdge;
using hashing::kRoot;
using hashing::mix;

/// The places of the features of one arc.
class RelationFeatures {
 public:
  RelationFeatures(const ParserSentence& sentence, const RelationShape& shape,
                   std::vector<std::uint32_t>& places)
      : s_(sentence),
        begin_(shape.begin),
        num_places_(shape.num_weights() - shape.width() + 1),
        places_(places) {}

  void of_word(std::size_t word, std::uint64_t direction) {
    start(1, direction);
    const std::uint64_t tag = at(s_.tags, word), lemma = at(s_.lemmas, word);
    const std::uint64_t before = at(s_.tags, word, -1), after = at(s_.tags, word, 1);
    for (const std::uint64_t key : {
             std::uint64_t{0},
             at(s_.forms, word),
             lemma,
             tag,
             at(s_.fine_tags, word),
             at(s_.morphology, word),
             at(s_.endings, word),
             mix(tag, lemma),
             mix(tag, at(s_.morphology, word)),
             mix(tag, before),
             mix(tag, after),
             mix(mix(tag, before), after),
             mix(mix(tag, before), at(s_.tags, word, -2)),
             mix(tag, at(s_.lemmas, word, -1)),
             mix(tag, at(s_.lemmas, word, -2)),
             mix(tag, at(s_.lemmas, word, 1)),
         }) {
      add(key);
    }
  }

  void of_head(std::size_t head, std::uint64_t direction) {
    start(2, direction);
    const std::uint64_t tag = at(s_.tags, head), lemma = at(s_.lemmas, head);
    for (const std::uint64_t key : {
             lemma,
             tag,
             at(s_.fine_tags, head),
             at(s_.morphology, head),
             mix(tag, lemma),
             mix(tag, at(s_.tags, head, -1)),
             mix(tag, at(s_.tags, head, 1)),
         }) {
      add(key);
    }
  }

  void of_pair(std::size_t head, std::size_t word) {
    const std::uint64_t distance = hashing::distance_class(head, word);
    start(3, distance & 1U);
    const std::uint64_t ht = at(s_.tags, head), wt = at(s_.tags, word), tags = mix(ht, wt);
    const std::uint64_t hf = at(s_.fine_tags, head), wf = at(s_.fine_tags, word);
    const std::uint64_t hl = at(s_.lemmas, head), wl = at(s_.lemmas, word);
    const std::uint64_t before = at(s_.lemmas, word, -1);
    const Between between = between_of(head, word);
    for (const std::uint64_t key : {
             tags,
             mix(tags, distance),
             mix(hf, wf),
             mix(hf, at(s_.morphology, word)),
             mix(hl, wl),
             mix(hl, wt),
             mix(ht, wl),
             mix(mix(hl, wt), before),
             mix(tags, before),
             mix(tags, at(s_.tags, word, -1)),
             mix(tags, at(s_.tags, word, 1)),
             mix(tags, at(s_.tags, head, -1)),
             mix(tags, at(s_.tags, head, 1)),
             mix(tags, between.tags),
             mix(tags, between.alike),
         }) {
      add(key);
    }
  }

 private:
  struct Between {
    std::uint64_t tags;   // the set of the different tags between the two words, at most 8 of them
    std::uint64_t alike;  // how many words there have the tag of the word: 0, 1, or 2 and more
  };

  Between between_of(std::size_t head, std::size_t word) const {
    const std::size_t from = std::min(head, word) + 1, to = std::max(head, word);
    std::uint64_t seen[8], set = 0, alike = 0;
    std::size_t kinds = 0;
    for (std::size_t k = from; k < to; ++k) {
      const std::uint64_t tag = s_.tags[k - 1];
      if (alike < 2 && tag == s_.tags[word - 1]) ++alike;
      if (kinds == 8) {
        if (alike == 2) break;
        continue;
      }
      if (std::find(seen, seen + kinds, tag) != seen + kinds) continue;
      seen[kinds++] = tag;
      set += mix(tag, 7);  // in any order
    }
    return {set, alike};
  }

  std::uint64_t at(const std::vector<std::uint64_t>& of, std::size_t position,
                   int offset = 0) const {
    if (position == 0) return kRoot;
    const auto k = static_cast<std::ptrdiff_t>(position) + offset;
    if (k < 1 || k > static_cast<std::ptrdiff_t>(s_.size())) return kEdge;
    return of[static_cast<std::size_t>(k) - 1];
  }

  void start(std::uint64_t group, std::uint64_t direction) {
    prefix_ = 1000 * (2 * group + direction);
  }
  void add(std::uint64_t key) {
    const std::uint64_t hash = mix(key, prefix_++);
    places_.push_back(static_cast<std::uint32_t>(begin_ + ((hash >> 32U) * num_places_ >> 32U)));
  }

  const ParserSentence& s_;
  std::uint64_t begin_, num_places_;
  std::uint64_t prefix_ = 0;
  std::vector<std::uint32_t>& places_;
};

/// sums[k] += the sum over places of weights[place + k], for k < width, a multiple of 8.
MARGROVE_MULTIVERSION
void add_rows(const float* weights, const std::uint32_t* places, std::size_t num_places,
              double* sums, std::size_t width) {
  for (std::size_t f = 0; f < num_places; ++f) {
    const float* row = weights + places[f];
#pragma omp simd
    for (std::size_t k = 0; k < width; ++k) sums[k] += static_cast<double>(row[k]);
  }
}

}  // namespace

void check_shape(const RelationShape& shape) {
  require<InvalidOption>(has_room(shape), "option hash_bits is ", shape.bits,
                         ", which gives relations ", shape.num_weights(),
                         " weights, but there must be at least ", 4 * shape.width(), " for ",
                         shape.num_relations, " relations");
}

void relation_features(const ParserSentence& sentence, std::size_t head, std::size_t word,
                       const RelationShape& shape, std::vector<std::uint32_t>& places) {
  RelationFeatures features(sentence, shape, places);
  const std::uint64_t direction = head < word ? 1 : 0;
  features.of_word(word, direction);
  features.of_head(head, direction);
  features.of_pair(head, word);
}

RelationScorer::RelationScorer(const ParserSentence& sentence, const RelationShape& shape,
                               ScaledWeights w, RelationWorkspace& workspace)
    : sentence_(&sentence), shape_(shape), w_(w), workspace_(&workspace) {
  const std::size_t n = sentence.size(), width = shape.width();
  auto& places = workspace.places;
  RelationFeatures features(sentence, shape, places);
  for (std::uint64_t direction = 0; direction < 2; ++direction) {
    auto& words = workspace.word_sums[direction];
    auto& heads = workspace.head_sums[direction];
    words.assign((n + 1) * width, 0.0);
    heads.assign((n + 1) * width, 0.0);
    for (std::size_t k = 0; k <= n; ++k) {
      places.clear();
      features.of_head(k, direction);
      add_rows(w.values.data(), places.data(), places.size(), &heads[k * width], width);
      if (k == 0) continue;
      places.clear();
      features.of_word(k, direction);
      add_rows(w.values.data(), places.data(), places.size(), &words[k * width], width);
    }
  }
}

std::span<const double> RelationScorer::operator()(std::size_t head, std::size_t word) const {
  const std::size_t width = shape_.width(), direction = head < word ? 1 : 0;
  auto& [word_sums, head_sums, places, sums] = *workspace_;
  const double* of_word = &word_sums[direction][word * width];
  const double* of_head = &head_sums[direction][head * width];
  sums.resize(width);
  for (std::size_t k = 0; k < width; ++k) sums[k] = of_word[k] + of_head[k];
  places.clear();
  RelationFeatures(*sentence_, shape_, places).of_pair(head, word);
  add_rows(w_.values.data(), places.data(), places.size(), sums.data(), width);
  for (double& sum : sums) sum *= w_.scale;
  return std::span<const double>(sums).first(shape_.num_relations);
}

std::span<const double> arc_relation_scores(const ParserSentence& sentence, std::size_t head,
                                            std::size_t word, const RelationShape& shape,
                                            ScaledWeights w, RelationWorkspace& workspace) {
  auto& places = workspace.places;
  places.clear();
  relation_features(sentence, head, word, shape, places);
  workspace.sums.assign(shape.width(), 0.0);
  add_rows(w.values.data(), places.data(), places.size(), workspace.sums.data(), shape.width());
  for (double& sum : workspace.sums) sum *= w.scale;
  return std::span<const double>(workspace.sums).first(shape.num_relations);
}

std::uint32_t best_relation(std::span<const double> scores) {
  return static_cast<std::uint32_t>(std::max_element(scores.begin(), scores.end()) -
                                    scores.begin());
}

}  // namespace margrove
