#pragma once
// Sentences of a CoNLL-U file with one word per line. docs/formats.md has the rules and errors.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_file.hpp"
#include "data/row_formats.hpp"
#include "margrove/control.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

/// The words of a sentence, numbered from 1 in `heads`; all vectors have one entry per word.
struct DependencySentence {
  std::vector<std::string> forms;
  std::vector<std::string> lemmas;
  std::vector<std::string> upos;
  std::vector<std::string> xpos;
  std::vector<std::string> features;
  std::vector<std::uint32_t> heads;  // 0: the root
  std::vector<LabelId> relations;

  std::size_t num_words() const { return forms.size(); }
};
struct DependencyCorpus {
  std::vector<DependencySentence> sentences;
  LabelCodec relations;  // the given ones, then new ones in order of first appearance

  std::size_t size() const { return sentences.size(); }
  const LabelCodec& labels() const { return relations; }
};

struct DependencyOptions {
  /// Whether heads and relations are read. If not, `heads` and `relations` stay empty.
  bool has_trees = true;
  const LabelCodec* relations = nullptr;
};

/// Reads a CoNLL-U file (plain, gzip or zstd); ranges of tokens, empty nodes and comments are left
/// out. Throws InvalidInput "file:line:column: ..." unless every line has ten columns, words are
/// numbered from 1, heads are words of the sentence, and each sentence is a tree with one root;
/// OutOfTimeLimit where `control`, whose memory limit bounds lines, asks to end. O(bytes).
DependencyCorpus read_conllu(const ExampleSource& source, const DependencyOptions& options = {},
                             RunControl* control = nullptr);
/// The sentences of a part of such a file, perhaps none.
DependencyCorpus read_conllu_part(const FilePart& part, const std::string& name,
                                  const DependencyOptions& options = {});
DependencyCorpus parse_conllu(std::string_view bytes, const std::string& name,
                              const DependencyOptions& options = {}, RunControl* control = nullptr);

/// Whether no two arcs cross when all are drawn above the sentence, with the root to its left.
/// heads[k] is the head of word k + 1; the arcs must form a tree below 0. O(words^2) at worst.
bool is_projective(const std::vector<std::uint32_t>& heads);

}  // namespace margrove
