#include "data/skos_reader.hpp"

#include <serd/serd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/hierarchy_edges.hpp"
#include "data/text_scan.hpp"

namespace margrove::detail {
namespace {

constexpr std::string_view kSkos = "http://www.w3.org/2004/02/skos/core#";
constexpr std::string_view kType = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
constexpr std::string_view kDeprecated = "http://www.w3.org/2002/07/owl#deprecated";
constexpr int kMostNested = 100;  // blank nodes; the parser of Turtle is recursive

bool is_skos(std::string_view uri, std::string_view name) {
  return uri.starts_with(kSkos) && uri.substr(kSkos.size()) == name;
}

/// Whether a language tag such as "en-GB" is of a language such as "en" or "en-gb".
bool is_of_language(std::string_view tag, std::string_view language) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (tag.size() < language.size()) return false;
  if (tag.size() > language.size() && tag[language.size()] != '-') return false;
  return std::equal(language.begin(), language.end(), tag.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

// A vocabulary from its triples -------------------------------------------------------------------

struct Literal {
  std::string_view text, language;
};

class Vocabulary {
 public:
  Vocabulary(std::string source, std::string language) : language_(std::move(language)) {
    hierarchy_.source = std::move(source);
  }

  void add(std::string_view subject, std::string_view predicate, std::string_view object) {
    if (predicate == kType && is_skos(object, "Concept")) {
      concept_of(subject).is_declared = true;
    } else if (is_skos(predicate, "broader")) {
      edges_.emplace_back(id_of(object), id_of(subject));
    } else if (is_skos(predicate, "narrower")) {
      edges_.emplace_back(id_of(subject), id_of(object));
    }
  }

  void add(std::string_view subject, std::string_view predicate, const Literal& object) {
    if (predicate == kDeprecated) {
      if (object.text == "true" || object.text == "1") concept_of(subject).is_deprecated = true;
    } else if (is_skos(predicate, "prefLabel")) {
      const int rank = rank_of(object.language);
      Concept& named = concept_of(subject);
      if (rank >= named.name_rank) return;
      named.name_rank = rank;
      named.name = object.text;
    }
  }

  Hierarchy finish() {
    std::vector<LabelId> node_of(concepts_.size(), kNone);
    for (const auto& [parent, child] : edges_)
      concepts_[parent].is_declared = concepts_[child].is_declared = true;
    bool any_name = false;
    for (LabelId id = 0; id < concepts_.size(); ++id) {
      Concept& each = concepts_[id];
      if (!each.is_declared || each.is_deprecated) continue;
      const std::string fault = name_fault(uris_.name(id));
      require(fault.empty(), hierarchy_.source, ": the URI of a concept ", fault);
      node_of[id] = hierarchy_.codec.add(uris_.name(id));
      any_name = any_name || each.name_rank < kNoName;
      hierarchy_.names.push_back(std::move(each.name));
    }
    require(hierarchy_.codec.size() > 0, hierarchy_.source,
            ": the file has no skos:Concept, but must have at least one");
    require<InvalidOption>(language_.empty() || any_name, "option language is ", language_,
                           ", but no concept of ", hierarchy_.source,
                           " has a skos:prefLabel in it");
    std::set<std::pair<LabelId, LabelId>> known;  // both ends may state the same edge
    for (const auto& [parent, child] : edges_) {
      if (node_of[parent] == kNone || node_of[child] == kNone) continue;
      if (!known.emplace(parent, child).second) continue;
      hierarchy_.edges.push_back({node_of[parent], node_of[child]});
    }
    require_acyclic(hierarchy_);
    return std::move(hierarchy_);
  }

 private:
  static constexpr LabelId kNone = ~LabelId{0};
  static constexpr int kNoName = 100;
  struct Concept {
    bool is_declared = false, is_deprecated = false;
    int name_rank = kNoName;  // of the language of `name`; the smallest one is taken
    std::string name;
  };

  int rank_of(std::string_view tag) const {
    if (!language_.empty()) return is_of_language(tag, language_) ? 0 : kNoName;
    return tag.empty() ? 0 : is_of_language(tag, "en") ? 1 : 2;
  }
  LabelId id_of(std::string_view uri) {
    const LabelId id = uris_.add(uri);
    if (id == concepts_.size()) concepts_.emplace_back();
    return id;
  }
  Concept& concept_of(std::string_view uri) { return concepts_[id_of(uri)]; }

  std::string language_;
  LabelCodec uris_;  // of all subjects with one of the predicates above
  std::vector<Concept> concepts_;
  std::vector<std::pair<LabelId, LabelId>> edges_;  // parent and child
  Hierarchy hierarchy_;
};

// Triples from a file -----------------------------------------------------------------------------

std::string_view text_of(const SerdNode& node) {
  return {reinterpret_cast<const char*>(node.buf), node.n_bytes};
}

/// Lets serd read the triples of a source. serd is written in C: exceptions wait until it is left.
class TripleReader {
 public:
  TripleReader(LineBlocks blocks, RdfSyntax syntax, Vocabulary& vocabulary)
      : blocks_(std::move(blocks)),
        vocabulary_(vocabulary),
        env_(serd_env_new(nullptr)),
        reader_(serd_reader_new(syntax == RdfSyntax::turtle ? SERD_TURTLE : SERD_NTRIPLES, this,
                                nullptr, on_base, on_prefix, on_statement, on_end)) {
    serd_reader_set_error_sink(reader_.get(), on_error, this);
  }

  void read() {
    constexpr std::size_t kPage = 65536;
    serd_reader_start_source_stream(reader_.get(), on_read, on_read_error, this, nullptr, kPage);
    SerdStatus status = SERD_SUCCESS;
    while (status == SERD_SUCCESS) status = serd_reader_read_chunk(reader_.get());
    serd_reader_end_stream(reader_.get());  // frees the page
    if (fault_ != nullptr) std::rethrow_exception(fault_);
    require(error_.empty() && status == SERD_FAILURE, blocks_.name(), error_.empty() ? ": " : "",
            error_.empty() ? "the file is not RDF" : error_);
  }

 private:
  /// Calls `action`, and keeps its exception.
  template <class Action>
  SerdStatus guarded(const Action& action) {
    try {
      action();
      return SERD_SUCCESS;
    } catch (...) {
      if (fault_ == nullptr) fault_ = std::current_exception();
      return SERD_ERR_INTERNAL;
    }
  }
  static TripleReader& self(void* handle) { return *static_cast<TripleReader*>(handle); }

  static std::size_t on_read(void* buffer, std::size_t size, std::size_t count, void* handle) {
    TripleReader& reader = self(handle);
    const std::span<char> out(static_cast<char*>(buffer), size * count);
    std::size_t read = 0;
    reader.guarded([&] {
      while (read < out.size()) {  // serd takes a page that is not full for the last one
        if (reader.rest_.empty()) {
          if (!reader.blocks_.next()) break;
          reader.rest_ = reader.blocks_.text();
        }
        const std::size_t copied = reader.rest_.copy(&out[read], out.size() - read);
        reader.rest_.remove_prefix(copied);
        read += copied;
      }
    });
    return read;
  }
  static int on_read_error(void* handle) { return self(handle).fault_ != nullptr ? 1 : 0; }

  static SerdStatus on_error(void* handle, const SerdError* error) {
    TripleReader& reader = self(handle);
    if (!reader.error_.empty()) return SERD_SUCCESS;  // the first one counts
    std::array<char, 200> text{};
    std::vsnprintf(text.data(), text.size(), error->fmt, *error->args);
    std::string_view message(text.data());
    while (message.ends_with('\n')) message.remove_suffix(1);
    reader.guarded(
        [&] { reader.error_ = concat(":", error->line, ":", error->col, ": ", message); });
    return SERD_SUCCESS;
  }

  static SerdStatus on_base(void* handle, const SerdNode* uri) {
    return serd_env_set_base_uri(self(handle).env_.get(), uri);
  }
  static SerdStatus on_prefix(void* handle, const SerdNode* name, const SerdNode* uri) {
    return serd_env_set_prefix(self(handle).env_.get(), name, uri);
  }
  static SerdStatus on_end(void* handle, const SerdNode* /*blank*/) {
    --self(handle).nested_;
    return SERD_SUCCESS;
  }

  static SerdStatus on_statement(void* handle, SerdStatementFlags flags, const SerdNode* /*graph*/,
                                 const SerdNode* subject, const SerdNode* predicate,
                                 const SerdNode* object, const SerdNode* /*datatype*/,
                                 const SerdNode* language) {
    TripleReader& reader = self(handle);
    return reader.guarded([&] {
      // Lists have no end of their own; a statement that continues nothing is outside of all.
      if ((flags & (SERD_ANON_CONT | SERD_LIST_CONT)) == 0) reader.nested_lists_ = 0;
      if ((flags & (SERD_ANON_S_BEGIN | SERD_ANON_O_BEGIN)) != 0) ++reader.nested_;
      if ((flags & (SERD_LIST_S_BEGIN | SERD_LIST_O_BEGIN)) != 0 &&
          text_of(*predicate).ends_with("first")) {
        ++reader.nested_lists_;
      }
      require(reader.nested_ <= kMostNested && reader.nested_lists_ <= kMostNested,
              reader.blocks_.name(), ": blank nodes or lists are nested more than ", kMostNested,
              " deep");
      reader.add(*subject, *predicate, *object, language);
    });
  }

  void add(const SerdNode& subject, const SerdNode& predicate, const SerdNode& object,
           const SerdNode* language) {
    const std::string about = uri_of(subject), relation = uri_of(predicate);
    if (about.empty()) return;  // a blank node, which is no concept
    if (object.type == SERD_LITERAL) {
      const bool has_language = language != nullptr && language->buf != nullptr;
      vocabulary_.add(about, relation,
                      Literal{text_of(object), has_language ? text_of(*language) : ""});
    } else if (const std::string other = uri_of(object); !other.empty()) {
      vocabulary_.add(about, relation, other);
    }
  }

  /// The whole URI; empty for nodes that have none.
  std::string uri_of(const SerdNode& node) const {
    if (node.type != SERD_URI && node.type != SERD_CURIE) return {};
    SerdNode whole = serd_env_expand_node(env_.get(), &node);
    const SerdNode& known = whole.buf != nullptr ? whole : node;  // relative ones without a base
    std::string uri(text_of(known));
    serd_node_free(&whole);
    return uri;
  }

  struct Free {
    void operator()(SerdEnv* env) const { serd_env_free(env); }
    void operator()(SerdReader* reader) const { serd_reader_free(reader); }
  };
  LineBlocks blocks_;
  std::string_view rest_;  // of the present block
  Vocabulary& vocabulary_;
  std::unique_ptr<SerdEnv, Free> env_;
  std::unique_ptr<SerdReader, Free> reader_;
  int nested_ = 0, nested_lists_ = 0;
  std::exception_ptr fault_;
  std::string error_;  // of the parser: ":line:column: ..."
};

}  // namespace

RdfSyntax rdf_syntax(std::string_view start) {
  while (!start.empty()) {
    const std::size_t newline = start.find('\n');
    std::string_view line = trimmed(start.substr(0, newline));
    start.remove_prefix(newline == std::string_view::npos ? start.size() : newline + 1);
    if (line.ends_with('\r')) line = trimmed(line.substr(0, line.size() - 1));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("<?xml") || line.starts_with("<rdf:RDF")) return RdfSyntax::xml;
    for (const std::string_view word : {"@prefix", "@base", "PREFIX ", "BASE ", "prefix ", "base "})
      if (line.starts_with(word) && line.find('<') != std::string_view::npos)
        return RdfSyntax::turtle;
    const bool is_triple = line.starts_with('<') && line.ends_with('.');
    return is_triple ? RdfSyntax::ntriples : RdfSyntax::none;
  }
  return RdfSyntax::none;
}

Hierarchy read_skos(LineBlocks blocks, RdfSyntax syntax, const std::string& language) {
  require(syntax != RdfSyntax::xml, blocks.name(),
          ": the file is RDF/XML, but must be Turtle or N-Triples; `rdfpipe -o turtle` (of the "
          "Python package rdflib) and `rapper -o turtle` convert it");
  Vocabulary vocabulary(blocks.name(), language);
  TripleReader(std::move(blocks), syntax, vocabulary).read();
  return vocabulary.finish();
}

}  // namespace margrove::detail
