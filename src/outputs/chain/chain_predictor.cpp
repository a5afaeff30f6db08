#include "outputs/chain/chain_predictor.hpp"

#include "data/sentence_lines.hpp"
#include "margrove/errors.hpp"
#include "outputs/chain/sequence_metrics.hpp"
#include "outputs/predictor_parts.hpp"

namespace margrove {

ChainPredictor::ChainPredictor(FeatureTable features, LabelCodec tags, std::size_t num_columns,
                               std::uint32_t order, std::vector<float> weights, Decision decision,
                               std::uint32_t outside_tag, TagConstraints constraints,
                               ColumnComments comments)
    : features_(std::move(features)),
      tags_(std::move(tags)),
      num_columns_(num_columns),
      shape_{features_.size(), static_cast<std::uint32_t>(tags_.size()), order},
      weights_(std::move(weights)),
      decision_(std::move(decision)),
      outside_tag_(outside_tag),
      constraints_(std::move(constraints)),
      has_comments_(comments == ColumnComments::hash) {}

void ChainPredictor::save(TensorMap& out) const {
  out.put_strings("chain.features", features_.names());
  out.put_strings("chain.tags", tags_.names());
  out.put_number("chain.columns", static_cast<double>(num_columns_));
  if (features_.alphabet() == Alphabet::unicode) out.put_text("chain.alphabet", "unicode");
  if (shape_.order > 1) out.put_number("chain.order", shape_.order);
  if (!clusters().is_empty()) {
    out.put_strings("chain.clusters.words", clusters().words());
    out.put_strings("chain.clusters.paths", clusters().paths());
  }
  out.put_view<float>("chain.weights", weights_);
  save_offset(decision_, "chain", out);
  if (decision_.offset() != 0.0) out.put_text("chain.outside_tag", concat(outside_tag_));
  if (!constraints_.is_empty()) {
    out.put_text("chain.constraints", std::string(name_of(constraints_.scheme())));
  }
  if (has_comments_) out.put_text("chain.comments", "hash");
}

namespace {

/// Models without the key, as those of earlier versions, have none.
TagConstraints constraints_in(const TensorMap& tensors, const LabelCodec& tags) {
  if (!tensors.has_text("chain.constraints")) return {};
  const std::string& name = tensors.text("chain.constraints");
  for (const TagScheme scheme : {TagScheme::bio, TagScheme::bioes}) {
    if (name != name_of(scheme)) continue;
    try {
      return {scheme, tags.names()};
    } catch (const InvalidOption& error) {
      tensors.check(false, "chain.constraints: ", error.what());
    }
  }
  tensors.check(false, "chain.constraints is '", name, "', but must be bio or bioes");
  return {};
}

/// Models of words in ASCII have no such key, nor have those of earlier versions.
Alphabet alphabet_in(const TensorMap& tensors) {
  if (!tensors.has_text("chain.alphabet")) return Alphabet::ascii;
  const std::string& name = tensors.text("chain.alphabet");
  tensors.check(name == "unicode", "chain.alphabet is '", name,
                "', but must be unicode, or absent");
  return Alphabet::unicode;
}

WordClusters clusters_in(const TensorMap& tensors) {
  if (!tensors.has("chain.clusters.words.bytes")) return {};
  std::vector<std::string> words = tensors.get_strings("chain.clusters.words");
  std::vector<std::string> paths = tensors.get_strings("chain.clusters.paths");
  tensors.check(words.size() == paths.size(), "chain.clusters.words holds ", words.size(),
                " words, but chain.clusters.paths ", paths.size(), " paths");
  return {std::move(words), std::move(paths)};
}

std::uint32_t order_in(const TensorMap& tensors) {
  if (!tensors.has_text("chain.order")) return 1;
  const std::uint64_t order = tensors.whole_number("chain.order", 2);
  tensors.check(order == 2, "chain.order is ", order, ", but must be 2, or absent");
  return 2;
}

}  // namespace

std::unique_ptr<Predictor> ChainPredictor::load(const TensorMap& tensors,
                                                std::uint32_t num_labels) {
  FeatureTable features(tensors.get_strings("chain.features"), alphabet_in(tensors),
                        clusters_in(tensors));
  LabelCodec tags = codec_of(tensors, "chain.tags", num_labels);
  tensors.check(num_labels > 0, "chain.tags is empty, but must have one tag");
  const auto columns = tensors.whole_number("chain.columns");
  const ChainShape shape{features.size(), num_labels, order_in(tensors)};
  auto weights = finite_weights(tensors, "chain.weights", shape.num_weights());
  Decision decision = load_offset(tensors, "chain", num_labels);
  const std::uint64_t outside_tag =
      decision.offset() != 0.0 ? tensors.whole_number("chain.outside_tag", num_labels - 1) : 0;
  TagConstraints constraints = constraints_in(tensors, tags);
  return std::make_unique<ChainPredictor>(
      std::move(features), std::move(tags), columns, shape.order, std::move(weights),
      std::move(decision), static_cast<std::uint32_t>(outside_tag), std::move(constraints),
      tensors.has_text("chain.comments") ? ColumnComments::hash : ColumnComments::none);
}

std::vector<float> ChainPredictor::weights_for(const FeatureTable& features, const LabelCodec& tags,
                                               std::uint32_t order) const {
  const ChainShape shape{features.size(), static_cast<std::uint32_t>(tags.size()), order};
  const std::size_t size = tags.size(), own_size = tags_.size();
  std::vector<float> weights(shape.num_weights());
  std::vector<std::optional<LabelId>> own_tags;
  for (const std::string& name : tags.names()) own_tags.push_back(tags_.find(name));
  // Copies the weights of all tags that stand from `own` on.
  const auto copy = [&](std::size_t own, std::size_t to) {
    for (std::size_t k = 0; k < size; ++k) {
      if (own_tags[k]) weights[to + k] = weights_[own + *own_tags[k]];
    }
  };
  for (std::uint32_t f = 0; f < features.size(); ++f) {
    if (const auto own = features_.find(features.names()[f])) copy(*own * own_size, f * size);
  }
  // Copies a matrix with a row for each tag.
  const auto copy_rows = [&](std::size_t own, std::size_t to) {
    for (std::size_t k = 0; k < size; ++k) {
      if (own_tags[k]) copy(own + *own_tags[k] * own_size, to + k * size);
    }
  };
  copy_rows(shape_.transitions(), shape.transitions());
  copy(shape_.start(), shape.start());
  copy(shape_.end(), shape.end());
  if (shape.order == 1 || shape_.order == 1) return weights;
  for (std::size_t k = 0; k < size; ++k) {
    if (!own_tags[k]) continue;
    copy_rows(shape_.triples() + *own_tags[k] * own_size * own_size,
              shape.triples() + k * size * size);
  }
  return weights;
}

std::vector<Fact> ChainPredictor::facts() const {
  std::vector<Fact> facts{{"features", concat(features_.size())},
                          {"tags", concat(tags_.size())},
                          {"order", concat(shape_.order)},
                          {"words in clusters", concat(clusters().words().size())},
                          weight_fact(weights_)};
  for (Fact& fact : decision_.facts()) facts.push_back(std::move(fact));
  if (decision_.offset() != 0.0) facts.push_back({"tag without offset", tags_.name(outside_tag_)});
  if (!constraints_.is_empty()) {
    facts.push_back({"constraints", std::string(name_of(constraints_.scheme()))});
  }
  return facts;
}

template <class Read>
ColumnCorpus ChainPredictor::with_columns(const std::string& source, Tags tags,
                                          const Read& read) const {
  ColumnOptions options;
  options.has_tags = tags == Tags::read;
  options.tags = &tags_;
  if (has_comments_) options.comments = ColumnComments::hash;
  ColumnCorpus corpus = read(options);
  const std::size_t num_tags = options.has_tags ? 1 : 0;
  const bool fits = corpus.num_columns == num_columns_ ||
                    (tags == Tags::skipped && corpus.num_columns == num_columns_ + 1);
  require(corpus.sentences.empty() || fits, source, ": tokens have ", corpus.num_columns + num_tags,
          " columns, but must have ", num_columns_ + num_tags, " as in training");
  if (corpus.num_columns == num_columns_ + 1) {
    options.has_tags = true;
    corpus = read(options);
  }
  return corpus;
}

ColumnCorpus ChainPredictor::read(const ExampleSource& source, Tags tags,
                                  RunControl& control) const {
  return with_columns(source.name(), tags, [&](const ColumnOptions& options) {
    return read_columns(source, options, &control);
  });
}

std::vector<TagSequence> ChainPredictor::decode(const ColumnCorpus& corpus, Executor& executor,
                                                RunControl& control) const {
  SequenceData data = features_.encode(corpus, 0);
  std::vector<TagSequence> tags(data.size());
  std::vector<ChainWorkspace> workspaces(static_cast<std::size_t>(executor.size()));
  watch(workspaces, control);
  try {
    executor.for_each(data.size(), [&](std::size_t i, int worker) {
      end_if_out_of_time(&control);
      tags[i] =
          decode_chain(data.X, data.pointers[i], data.pointers[i + 1], shape_, {weights_, 1.0},
                       workspaces[worker], {decision_.offset(), outside_tag_, &constraints_});
    });
  } catch (const OutOfTime&) {
    return tags;  // the rest are empty
  }
  return tags;
}

void ChainPredictor::append(const std::vector<TagSequence>& sentences, std::string& lines) const {
  for (const TagSequence& tags : sentences) {
    for (const std::uint32_t tag : tags) lines.append(tags_.name(tag)).append("\n");
    lines.append("\n");
  }
}

std::vector<TagSequence> ChainPredictor::predict(const ExampleSource& source, Executor& executor,
                                                 RunControl& control) const {
  return decode(read(source, source.sentences() ? Tags::none : Tags::skipped, control), executor,
                control);
}

std::string ChainPredictor::predict_file(const ExampleSource& source, Executor& executor,
                                         RunControl& control) const {
  std::string out;
  append(predict(source, executor, control), out);
  return out;
}

std::vector<Sentence> ChainPredictor::answers(const ExampleSource& source, Executor& executor,
                                              RunControl& control) const {
  std::vector<Sentence> answers;
  for (const TagSequence& tags : predict(source, executor, control)) {
    Sentence& sentence = answers.emplace_back();
    for (const std::uint32_t tag : tags) sentence.push_back({tags_.name(tag)});
  }
  return answers;
}

std::size_t ChainPredictor::predict_part(const FilePart& part, const std::string& name,
                                         Executor& executor, RunControl& control,
                                         std::string& lines) const {
  const std::string place = detail::place_of(part, name);
  const ColumnCorpus corpus = with_columns(place, Tags::skipped, [&](const ColumnOptions& options) {
    return read_columns_part(part, name, options);
  });
  append(decode(corpus, executor, control), lines);
  return corpus.size();
}

bool ChainPredictor::has_token(std::string_view line, bool begins_sentence) const {
  return !is_between_tokens(line, begins_sentence, has_comments_);
}

/// The tag is a further column.
std::string ChainPredictor::answered(std::string_view line, std::string_view answer,
                                     const std::string& name) const {
  const bool has_tabs = line.find('\t') != std::string_view::npos;
  require(has_tabs || answer.find(' ') == std::string_view::npos, name, ": tag '", answer,
          "' has a blank, but blanks separate the columns of the file; separate them by tabs");
  return concat(line, has_tabs ? "\t" : " ", answer);
}

std::span<const AnswerColumn> ChainPredictor::answer_columns() const {
  static constexpr AnswerColumn kColumns[] = {{"tags"}};
  return kColumns;
}

std::size_t ChainPredictor::bytes_of_sentence(std::size_t num_tokens) const {
  // Names and numbers of the features of a token (token_features()), and what Viterbi's algorithm
  // keeps for each tag of it.
  const std::size_t features = 38 + 3 * num_columns_, num_tags = tags_.size();
  const std::size_t contexts = shape_.order > 1 ? num_tags * num_tags : num_tags;
  return num_tokens * (24 * features + 16 * num_tags + 8 * contexts + 200) +
         24 * num_tags * contexts;
}

FileEvaluation ChainPredictor::evaluate_file(const ExampleSource& source, Executor& executor,
                                             RunControl& control) const {
  const ColumnCorpus corpus = read(source, Tags::read, control);
  const auto predicted = decode(corpus, executor, control);
  SequenceScores scores;
  std::size_t num_unknown = 0;
  std::vector<std::string_view> truth_names, names;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    if (predicted[i].empty()) continue;  // the run was stopped before this sentence
    truth_names.clear();
    names.clear();
    for (const LabelId tag : corpus.sentences[i].tags) {
      truth_names.push_back(corpus.tags.name(tag));
      num_unknown += tag < tags_.size() ? 0 : 1;
    }
    for (const std::uint32_t tag : predicted[i]) names.push_back(tags_.name(tag));
    scores.add(truth_names, names);
  }
  std::vector<NamedValue> values{{"token_accuracy", scores.token_accuracy()},
                                 {"sentence_accuracy", scores.sentence_accuracy()}};
  if (are_span_tags(corpus.tags.names())) {
    values.push_back({"span_precision", scores.span_precision()});
    values.push_back({"span_recall", scores.span_recall()});
    values.push_back({"span_f1", scores.span_f1()});
  }
  const auto num_words = static_cast<std::size_t>(scores.tokens);
  return {std::move(values),
          unknown_answers(num_unknown, num_words, "tags", corpus.tags.names(), tags_.size())};
}

}  // namespace margrove
