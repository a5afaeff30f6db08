#include "data/rdf_xml_reader.hpp"

#define XML_DTD 1  // expat.h declares the limit of amplification only with it
#include <expat.h>
#undef XML_DTD
#include <serd/serd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

// Names are namespace and local name without a separator, which are the URIs of RDF.
const std::string kRdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
constexpr std::string_view kXml = "http://www.w3.org/XML/1998/namespace";
constexpr std::size_t kMaxNestedElements = 200;
constexpr int kLongestEntity = 1000;
constexpr float kMaxAmplified = 10;
constexpr std::string_view kBlanks = " \t\r\n";

bool is_rdf(std::string_view name, std::string_view local) {
  return name.starts_with(kRdf) && name.substr(kRdf.size()) == local;
}

/// The attributes of an element that the syntax of RDF and XML define, and the others.
struct Attributes {
  std::optional<std::string> about, id, node_id, resource, parse_type, datatype, language, base;
  std::vector<std::pair<std::string_view, std::string_view>> properties;  // name and value
};

/// An open element. Nodes and properties alternate, except that a property with
/// parseType="Resource" is a node, too.
struct Element {
  enum class Kind : std::uint8_t {
    document,    // rdf:RDF, whose children are nodes
    node,        // children are properties of `subject`
    property,    // children are text, or one node
    collection,  // a property whose children are the members of a list
    markup,      // inside of parseType="Literal"
  };
  Kind kind;
  std::string subject = {};    // of a node and of a property; empty: a blank node
  std::string predicate = {};  // of a property
  std::string base = {}, language = {};
  std::string text = {};   // of a property
  bool is_filled = false;  // a property whose object is known
};

/// Makes triples of the elements and texts of a document.
class Striper {
 public:
  /// All functions throw InvalidInput without a place for what is no RDF.
  explicit Striper(TripleSink& triples) : triples_(triples) {}

  void open(std::string_view name, const char** attributes) {
    require(open_.size() < kMaxNestedElements, "elements are nested more than ", kMaxNestedElements,
            " deep");
    using Kind = Element::Kind;
    Element element{.kind = Kind::document};
    if (!open_.empty()) {
      element.base = open_.back().base;
      element.language = open_.back().language;
    }
    const bool in_markup = !open_.empty() && open_.back().kind == Kind::markup;
    if (in_markup) {
      element.kind = Kind::markup;
      open_.push_back(std::move(element));
      return;
    }
    const Attributes given = read(attributes);
    if (given.base) {
      require_short("xml:base", given.base->size());
      element.base = resolved_uri(*given.base, element.base);
      require_short("xml:base", element.base.size());
    }
    if (given.language) element.language = *given.language;
    if (open_.empty() && is_rdf(name, "RDF")) {
      open_.push_back(std::move(element));
    } else if (open_.empty() || open_.back().kind != Kind::node) {
      open_node(name, given, std::move(element));
    } else {
      open_property(name, given, std::move(element));
    }
  }

  void text(std::string_view piece) {
    if (open_.empty() || open_.back().kind == Element::Kind::markup) return;
    Element& element = open_.back();
    if (element.kind == Element::Kind::property && !element.is_filled) {
      element.text += piece;
      return;
    }
    const std::size_t first = piece.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return;
    throw InvalidInput(
        concat("the text ", quoted(piece.substr(first, 20)), " stands where RDF has none"));
  }

  void close() {
    const Element element = std::move(open_.back());
    open_.pop_back();
    if (element.kind != Element::Kind::property || element.is_filled) return;
    add(element.subject, element.predicate, RdfLiteral{element.text, element.language});
  }

  /// The bytes of subjects since the last call: a base makes them longer than they are in the file.
  std::size_t take_bytes() { return std::exchange(num_bytes_, 0); }

 private:
  static Attributes read(const char** given) {
    Attributes attributes;
    for (; given[0] != nullptr; given += 2) {
      const std::string_view name = given[0], value = given[1];
      // Older files write about for rdf:about.
      const auto is = [&](std::string_view local) { return is_rdf(name, local) || name == local; };
      if (is("about")) {
        attributes.about = value;
      } else if (is("ID")) {
        attributes.id = value;
      } else if (is("nodeID")) {
        attributes.node_id = value;
      } else if (is("resource")) {
        attributes.resource = value;
      } else if (is("parseType")) {
        attributes.parse_type = value;
      } else if (is("datatype")) {
        attributes.datatype = value;
      } else if (name.starts_with(kXml)) {
        if (name.substr(kXml.size()) == "lang") attributes.language = value;
        if (name.substr(kXml.size()) == "base") attributes.base = value;
      } else {
        require(name.find(':') != std::string_view::npos, "attribute ", quoted(name),
                " has no namespace, but must have one");
        attributes.properties.emplace_back(name, value);
      }
    }
    return attributes;
  }

  void open_node(std::string_view name, const Attributes& given, Element element) {
    element.kind = Element::Kind::node;
    const int num_names =
        given.about.has_value() + given.id.has_value() + given.node_id.has_value();
    require(num_names <= 1,
            "a node has more than one of rdf:about, rdf:ID and rdf:nodeID, but may have one");
    require(!given.resource && !given.parse_type, "the node ", quoted(name),
            " has an attribute of properties, rdf:resource or "
            "rdf:parseType");
    if (given.about) element.subject = resolved_uri(*given.about, element.base);
    if (given.id) element.subject = resolved_uri("#" + *given.id, element.base);
    if (!open_.empty() && open_.back().kind == Element::Kind::property) {
      Element& parent = open_.back();
      require(!parent.is_filled && parent.text.find_first_not_of(kBlanks) == std::string::npos,
              "the property ", quoted(parent.predicate), " has more than one value");
      parent.is_filled = true;
      add(parent.subject, parent.predicate, element.subject);
    }
    if (!is_rdf(name, "Description")) add(element.subject, kRdf + "type", name);
    add_properties(element.subject, given, element);
    open_.push_back(std::move(element));
  }

  void open_property(std::string_view name, const Attributes& given, Element element) {
    element.kind = Element::Kind::property;
    element.subject = open_.back().subject;
    element.predicate = name;
    require(!given.about, "the property ", quoted(name), " has rdf:about, which is for nodes");
    const std::string parse_type = given.parse_type.value_or("");
    if (given.datatype) element.language.clear();
    if (parse_type == "Resource") {
      add(element.subject, element.predicate, "");
      element = {.kind = Element::Kind::node, .base = element.base, .language = element.language};
    } else if (parse_type == "Collection") {
      element.kind = Element::Kind::collection;
    } else if (given.parse_type) {  // others than these are read as Literal
      element.kind = Element::Kind::markup;
    } else if (given.resource || given.node_id || !given.properties.empty()) {
      const std::string object =
          given.resource ? resolved_uri(*given.resource, element.base) : std::string();
      add(element.subject, element.predicate, object);
      add_properties(object, given, element);
      element.is_filled = true;
    }
    open_.push_back(std::move(element));
  }

  /// The properties of a node that are attributes.
  void add_properties(const std::string& subject, const Attributes& given, const Element& element) {
    for (const auto& [name, value] : given.properties) {
      if (is_rdf(name, "type")) {
        add(subject, name, resolved_uri(std::string(value), element.base));
      } else {
        add(subject, name, RdfLiteral{value, element.language});
      }
    }
  }

  void add(std::string_view subject, std::string_view predicate, std::string_view object) {
    if (subject.empty() || object.empty()) return;
    num_bytes_ += subject.size() + object.size();
    triples_.add(subject, predicate, object);
  }
  void add(std::string_view subject, std::string_view predicate, const RdfLiteral& object) {
    if (subject.empty()) return;
    num_bytes_ += subject.size();
    triples_.add(subject, predicate, object);
  }

  TripleSink& triples_;
  std::size_t num_bytes_ = 0;
  std::vector<Element> open_;
};

/// Lets expat read a document. It is written in C: exceptions wait until it is left.
class XmlReader {
 public:
  XmlReader(LineBlocks blocks, TripleSink& triples)
      : blocks_(std::move(blocks)), striper_(triples), parser_(XML_ParserCreateNS(nullptr, '\0')) {
    require(parser_ != nullptr, blocks_.name(), ": there is no memory for a reader of XML");
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(parser_.get(), on_open, on_close);
    XML_SetCharacterDataHandler(parser_.get(), on_text);
    XML_SetStartNamespaceDeclHandler(parser_.get(), on_namespace);
    XML_SetEntityDeclHandler(parser_.get(), on_entity);
    XML_SetSkippedEntityHandler(parser_.get(), on_skipped_entity);
    XML_SetBillionLaughsAttackProtectionMaximumAmplification(parser_.get(), kMaxAmplified);
  }

  void read() {
    while (blocks_.next()) {
      std::string_view text = blocks_.text();
      if (!has_begun_) {  // a declaration of XML must be the first of all
        const std::size_t blank = std::min(text.find_first_not_of(kBlanks), text.size());
        num_skipped_lines_ +=
            std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(blank), '\n');
        text.remove_prefix(blank);
        has_begun_ = !text.empty();
      }
      constexpr std::size_t kPiece = std::size_t{1} << 20U;  // expat counts bytes in an int
      for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
        parse(text.substr(0, kPiece), /*is_last=*/false);
      }
    }
    parse({}, /*is_last=*/true);
  }

 private:
  void parse(std::string_view text, bool is_last) {
    const XML_Status status =
        XML_Parse(parser_.get(), text.data(), static_cast<int>(text.size()), is_last ? 1 : 0);
    if (fault_ != nullptr) std::rethrow_exception(fault_);
    if (status == XML_STATUS_OK) return;
    fail("the file is not well-formed XML: ", XML_ErrorString(XML_GetErrorCode(parser_.get())));
  }

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw InvalidInput(concat(
        blocks_.name(), ":",
        num_skipped_lines_ + static_cast<std::ptrdiff_t>(XML_GetCurrentLineNumber(parser_.get())),
        ":", XML_GetCurrentColumnNumber(parser_.get()) + 1, ": ", parts...));
  }

  /// Calls `action`. Its exception, to which the place is added, ends the reading.
  template <class Action>
  void guarded(const Action& action) {
    if (fault_ != nullptr) return;
    try {
      try {
        action();
      } catch (const InvalidInput& error) {
        fail(error.what());
      }
      blocks_.meter().add(striper_.take_bytes());
    } catch (...) {
      fault_ = std::current_exception();
      XML_StopParser(parser_.get(), XML_FALSE);
    }
  }
  static XmlReader& self(void* handle) { return *static_cast<XmlReader*>(handle); }

  static void on_open(void* handle, const char* name, const char** attributes) {
    self(handle).guarded([&] { self(handle).striper_.open(name, attributes); });
  }
  static void on_close(void* handle, const char* /*name*/) {
    self(handle).guarded([&] { self(handle).striper_.close(); });
  }
  static void on_namespace(void* handle, const char* /*prefix*/, const char* uri) {
    self(handle).guarded([&] {
      if (uri != nullptr) require_short("a namespace", std::string_view(uri).size());
    });
  }
  static void on_text(void* handle, const char* text, int size) {
    self(handle).guarded([&] {
      self(handle).striper_.text({text, static_cast<std::size_t>(size)});
    });
  }
  static void on_entity(void* handle, const char* name, int /*is_parameter*/, const char* value,
                        int size, const char* /*base*/, const char* /*system*/,
                        const char* /*public_id*/, const char* /*notation*/) {
    self(handle).guarded([&] {
      require(value != nullptr, "entity ", quoted(name),
              " is outside of the file, where nothing is read");
      const std::string_view text(value, static_cast<std::size_t>(size));
      require(size <= kLongestEntity && text.find_first_of("&%<") == std::string_view::npos,
              "entity ", quoted(name), " must be a text of at most ", kLongestEntity,
              " bytes without markup and other entities");
    });
  }
  static void on_skipped_entity(void* handle, const char* name, int /*is_parameter*/) {
    self(handle).guarded([&] {
      throw InvalidInput(concat("entity ", quoted(name), " is not defined in the file"));
    });
  }

  struct Free {
    void operator()(XML_Parser parser) const { XML_ParserFree(parser); }
  };
  LineBlocks blocks_;
  Striper striper_;
  std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::exception_ptr fault_;
  bool has_begun_ = false;
  std::ptrdiff_t num_skipped_lines_ = 0;  // blank ones at the start
};

}  // namespace

std::string resolved_uri(const std::string& reference, const std::string& base) {
  const auto bytes_of = [](const std::string& text) {
    return reinterpret_cast<const std::uint8_t*>(text.c_str());
  };
  if (base.empty() || serd_uri_string_has_scheme(bytes_of(reference))) return reference;
  SerdURI relative = SERD_URI_NULL, root = SERD_URI_NULL, whole = SERD_URI_NULL;
  serd_uri_parse(bytes_of(reference), &relative);
  serd_uri_parse(bytes_of(base), &root);
  SerdNode node = serd_node_new_uri(&relative, &root, &whole);
  std::string uri(reinterpret_cast<const char*>(node.buf), node.n_bytes);
  serd_node_free(&node);
  return uri;
}

void read_rdf_xml(LineBlocks blocks, TripleSink& triples) {
  XmlReader(std::move(blocks), triples).read();
}

}  // namespace margrove::detail
