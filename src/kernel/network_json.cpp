#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "kernel/indexed_map.hpp"
#include "kernel/network.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using Json = nlohmann::basic_json<IndexedMap>;
using Node = NetworkBuilder::Node;

constexpr int kDeepest = 500;  // so that recursion does not overrun the stack
// What a short text could make very large: the kernels of a network, the bytes of their names and
// columns together, and the children of its nodes.
constexpr std::size_t kMaxKernels = 100'000;
constexpr std::size_t kMaxSpecBytes = std::size_t{8} << 20U;
constexpr std::size_t kMaxChildren = 100'000;

/// The most objects and lists of the text that are within each other.
int depth_of(const std::string& text) {
  int depth = 0, deepest = 0;
  bool is_in_string = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '"') is_in_string = !is_in_string;
    if (is_in_string) {
      if (c == '\\') ++k;
    } else if (c == '{' || c == '[') {
      deepest = std::max(deepest, ++depth);
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  return deepest;
}

/// Throws InvalidInput naming the source for what is not JSON or is nested too deep.
Json parse_json(const std::string& text, const std::string& source) {
  // A callback of the parser would look at all members before each one for some to leave out.
  require(depth_of(text) <= kDeepest, source, ": is nested more than ", kDeepest, " deep");
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {  // a number too large for its type is no parse_error
    throw InvalidInput(concat(source, ": not JSON: ", error.what()));
  }
}

/// "1-20,25" -> ranges from 0, the end excluded.
std::vector<ColumnRange> parse_columns(const std::string& text, const std::string& where) {
  std::vector<ColumnRange> ranges;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    unsigned long first = 0;
    unsigned long last = 0;
    char rest = 0;
    // A number too large becomes the largest, which is refused below.
    // NOLINTNEXTLINE(bugprone-unchecked-string-to-number-conversion)
    const int found = std::sscanf(part.c_str(), " %lu - %lu %c", &first, &last, &rest);
    if (found == 1) last = first;
    require(found >= 1 && found <= 2 && part.find_first_not_of(" 0123456789-") == std::string::npos,
            where, ": columns are '", part, "', but must be like 3 or 1-20");
    require(first >= 1 && first <= last && last <= 0xFFFFFFFEUL, where, ": columns ", part,
            " must count from 1 and not fall");
    ranges.push_back({static_cast<FeatureId>(first - 1), static_cast<FeatureId>(last)});
  }
  require(!ranges.empty(), where, ": columns are empty, but must be like 3 or 1-20");
  return ranges;
}

/// Makes a network from one JSON text.
class Reader {
 public:
  Reader(std::string source, std::uint32_t num_columns)
      : source_(std::move(source)), num_columns_(num_columns) {}

  SumProductNetwork read(const std::string& text, std::span<const NamedView> views) {
    const Json json = parse_json(text, source_);
    allow(json, "the network",
          {"views", "kernels", "nodes", "root", "shape", "p", "degree", "groups", "use"});
    for (const auto& view : views) views_[view.name] = view.columns;
    for (const auto& [name, value] : entries(json, "views").items()) {
      views_[name] =
          parse_columns(string_of(value, concat("view '", name, "'")), where("view '", name, "'"));
    }
    for (const auto& [name, value] : entries(json, "kernels").items()) {
      require(families_.emplace(name, read_family(name, value)).second,
              where("kernel '", name, "'"), ": occurs twice");
    }
    if (json.contains("nodes")) nodes_ = json["nodes"];
    if (json.contains("shape")) {
      read_shape(json);
    } else {
      require(json.contains("root"), source_,
              ": has neither 'root' nor 'shape', but must have one");
      node(json["root"], "root");
      require_all_used();
    }
    try {
      auto network = builder_.build();
      for (const auto& spec : network.kernels()) check_kernel(spec, num_columns_);
      return network;
    } catch (const InvalidInput& error) {
      throw InvalidInput(concat(source_, ": ", error.what()));
    }
  }

 private:
  template <class... Parts>
  std::string where(const Parts&... parts) const {
    return concat(source_, ": ", parts...);
  }

  void allow(const Json& json, const std::string& what, const std::set<std::string>& keys) const {
    require(json.is_object(), where(what), " is not an object {...}, but must be");
    for (const auto& [key, value] : json.items()) {
      require(keys.contains(key), where(what), " has the key '", key, "', which is not known here");
    }
  }

  /// The object under the key; an empty one if there is none.
  const Json& entries(const Json& json, const std::string& key) const {
    static const Json nothing = Json::object();
    if (!json.contains(key)) return nothing;
    require(json[key].is_object(), where("'", key, "'"), " is not an object {...}, but must be");
    return json[key];
  }

  std::string string_of(const Json& json, const std::string& what) const {
    require(json.is_string(), where(what), " is ", json.dump(), ", but must be a text");
    return json.get<std::string>();
  }
  /// The text, or the number, under a key of `what`, which must be there.
  std::string string_at(const Json& json, const std::string& key, const std::string& what) const {
    return string_of(json[key], concat(key, " of ", what));
  }
  double number_at(const Json& json, const std::string& key, const std::string& what) const {
    require(json[key].is_number(), where(key, " of ", what), " is ", json[key].dump(),
            ", but must be a number");
    return json[key].get<double>();
  }
  std::optional<double> p_of(const Json& json, const std::string& what) const {
    if (!json.contains("p")) return {};
    return number_at(json, "p", what);
  }

  /// 0.5, "median" or "0.5 median".
  void read_width(const Json& json, const std::string& what, KernelSpec& spec) const {
    if (json.is_number()) {
      spec.width = json.get<double>();
      spec.width_in_medians = false;
      return;
    }
    const std::string text = string_of(json, concat("width of ", what));
    std::stringstream stream(text);
    spec.width = 1;
    if (text != "median") stream >> spec.width;
    std::string unit;
    std::string rest;
    if (!stream.fail()) stream >> unit;
    require(unit == "median" && !(stream >> rest), where("width of ", what), " is '", text,
            "', but must be a number, 'median' or like '0.5 median'");
    spec.width_in_medians = true;
  }

  KernelSpec read_kernel(const std::string& name, const Json& json) const {
    const std::string what = concat("kernel '", name, "'");
    allow(json, what,
          {"type", "width", "widths", "degree", "degrees", "slope", "offset", "scaling", "centred",
           "columns", "view", "each_column", "file"});
    KernelSpec spec;
    spec.name = name;
    require(json.contains("type"), where(what), " has no type");
    try {
      spec.type = kernel_type(string_at(json, "type", what));
      if (json.contains("scaling")) spec.scaling = kernel_scaling(string_of(json["scaling"], what));
    } catch (const InvalidInput& error) {
      throw InvalidInput(concat(where(what), ": ", error.what()));
    }
    const bool has_own_values =
        spec.type == KernelType::precomputed || spec.type == KernelType::given;
    if (has_own_values && !json.contains("scaling")) spec.scaling = KernelScaling::none;
    if (json.contains("width")) read_width(json["width"], what, spec);
    if (json.contains("degree")) spec.degree = degree_of(json["degree"], what);
    if (json.contains("slope")) spec.slope = number_at(json, "slope", what);
    if (json.contains("offset")) spec.offset = number_at(json, "offset", what);
    if (json.contains("file")) spec.file = string_at(json, "file", what);
    if (json.contains("centred")) {
      require(json["centred"].is_boolean(), where("centred of ", what), " must be true or false");
      spec.centred = json["centred"].get<bool>();
    }
    require(!(json.contains("columns") && json.contains("view")), where(what),
            " has both columns and a view, but must have one of them");
    if (json.contains("columns")) {
      spec.columns = parse_columns(string_at(json, "columns", what), where(what));
    }
    if (json.contains("view")) {
      const std::string view = string_at(json, "view", what);
      const auto found = views_.find(view);
      require(found != views_.end(), where(what), " is over the view '", view,
              "', which does not exist");
      spec.columns = found->second;
    }
    return spec;
  }

  int degree_of(const Json& json, const std::string& what) const {
    require(json.is_number_integer(), where("degree of ", what), " is ", json.dump(),
            ", but must be a whole number");
    const auto degree = json.get<std::int64_t>();
    require(degree >= 1 && degree <= 64, where("degree of ", what), " is ", degree,
            ", but must be from 1 to 64");
    return static_cast<int>(degree);
  }

  static std::size_t bytes_of(const KernelSpec& spec) {
    return spec.name.size() + spec.file.size() + spec.columns.size() * sizeof(ColumnRange);
  }
  void require_spec_bytes(std::size_t bytes) const {
    require(bytes <= kMaxSpecBytes, source_, ": names and columns of the kernels take more than ",
            kMaxSpecBytes, " bytes");
  }
  void count_children(std::size_t more) {
    num_children_ += more;
    require(num_children_ <= kMaxChildren, source_, ": the nodes have more than ", kMaxChildren,
            " children");
  }

  /// One kernel, or one for each width, degree and column that are listed.
  std::vector<KernelSpec> read_family(const std::string& name, const Json& json) {
    std::vector<KernelSpec> family{read_kernel(name, json)};
    std::size_t bytes = 0;  // of the family so far
    const auto count_bytes = [&](const KernelSpec& spec) {
      bytes += bytes_of(spec);
      require_spec_bytes(spec_bytes_ + bytes);
    };
    count_bytes(family.front());
    const auto multiply = [&](const auto& values, const auto& change) {
      require(family.size() * values.size() <= kMaxKernels, where("kernel '", name, "'"),
              " stands for more than ", kMaxKernels, " kernels");
      std::vector<KernelSpec> longer;
      bytes = 0;
      for (const auto& spec : family) {
        for (const auto& value : values) {
          longer.push_back(spec);
          change(longer.back(), value);
          count_bytes(longer.back());
        }
      }
      family = std::move(longer);
    };
    for (const std::string key : {"widths", "degrees"}) {
      if (!json.contains(key)) continue;
      require(json[key].is_array() && !json[key].empty(), where(key, " of kernel '", name, "'"),
              " is not a list [...] of values, but must be");
      multiply(json[key], [&](KernelSpec& spec, const Json& value) {
        spec.name += concat("/", value.is_string() ? value.get<std::string>() : value.dump());
        if (key == "widths") {
          read_width(value, concat("kernel '", name, "'"), spec);
        } else {
          spec.degree = degree_of(value, concat("kernel '", name, "'"));
        }
      });
    }
    if (json.contains("each_column") && json["each_column"] == true) {
      std::vector<FeatureId> columns;
      auto ranges = family[0].columns;
      if (ranges.empty()) ranges = {{0, num_columns_}};
      for (const auto& range : ranges) {
        require(range.end <= num_columns_, where("kernel '", name, "'"), ": columns ",
                range.begin + 1, "-", range.end, " must lie within 1-", num_columns_);
        require(columns.size() + (range.end - range.begin) <= kMaxKernels,
                where("kernel '", name, "'"), " stands for more than ", kMaxKernels, " kernels");
        for (FeatureId j = range.begin; j < range.end; ++j) columns.push_back(j);
      }
      multiply(columns, [](KernelSpec& spec, FeatureId column) {
        spec.name += concat("/x", column + 1);
        spec.columns = {{column, column + 1}};
      });
    }
    spec_bytes_ += bytes;
    num_kernels_ += family.size();
    require(num_kernels_ <= kMaxKernels, source_, ": the kernels stand for more than ", kMaxKernels,
            " kernels");
    return family;
  }

  Node kernel_node(const KernelSpec& spec) {
    const auto found = made_kernels_.find(spec.name);
    if (found != made_kernels_.end()) return found->second;
    return made_kernels_[spec.name] = builder_.kernel(spec);
  }

  /// A child of a sum or product: a name, or a node written in place. Families become many.
  std::vector<Node> child(const Json& json, const std::string& parent, bool of_sum) {
    if (!json.is_string()) return {node(json, concat("a child of ", parent))};
    const auto name = json.get<std::string>();
    const auto family = families_.find(name);
    if (family != families_.end()) {
      used_kernels_.insert(name);
      require(of_sum || family->second.size() == 1, where(parent), " multiplies the family '", name,
              "' of ", family->second.size(), " kernels, but only sums may hold a family");
      std::vector<Node> nodes;
      for (const auto& spec : family->second) nodes.push_back(kernel_node(spec));
      return nodes;
    }
    return {named_node(name, parent)};
  }

  Node named_node(const std::string& name, const std::string& parent) {
    const auto done = made_nodes_.find(name);
    if (done != made_nodes_.end()) return done->second;
    require(nodes_.is_object() && nodes_.contains(name), where(parent), " names '", name,
            "', which is neither a kernel nor a node");
    require(open_.insert(name).second, where("node '", name, "'"),
            " is below itself, but a network must have no cycle");
    const Node made = node(nodes_[name], concat("node '", name, "'"), name);
    open_.erase(name);
    return made_nodes_[name] = made;
  }

  Node node(const Json& json, const std::string& what, const std::string& given_name = "") {
    if (json.is_string()) return named_node(json.get<std::string>(), what);
    allow(json, what, {"sum", "product", "name", "p"});
    require(json.contains("sum") != json.contains("product"), where(what),
            " must have either 'sum' or 'product'");
    require(++depth_ <= kDeepest, where(what), " is nested more than ", kDeepest, " deep");
    const bool is_sum = json.contains("sum");
    require(!(is_sum && json.contains("p")), where(what),
            " is a sum and has p, but only products have weights");
    const Json& list = is_sum ? json["sum"] : json["product"];
    require(list.is_array(), where(what), ": its children are not a list [...], but must be");
    std::vector<Node> children;
    for (const auto& each : list) {
      const std::vector<Node> made = child(each, what, is_sum);
      count_children(made.size());
      children.insert(children.end(), made.begin(), made.end());
    }
    --depth_;
    std::string name = json.contains("name") ? string_at(json, "name", what) : given_name;
    return is_sum ? builder_.sum(std::move(children), std::move(name))
                  : builder_.product(std::move(children), std::move(name), p_of(json, what));
  }

  std::vector<KernelSpec> specs_of(const Json& list, const std::string& what) {
    require(list.is_array(), where(what), " is not a list [...] of kernels, but must be");
    std::vector<KernelSpec> specs;
    for (const auto& each : list) {
      const auto found = families_.find(string_of(each, what));
      require(found != families_.end(), where(what), " names '", each.get<std::string>(),
              "', which is not a kernel");
      count_children(found->second.size());
      for (const KernelSpec& spec : found->second) {
        require_spec_bytes(spec_bytes_ += bytes_of(spec));
        specs.push_back(spec);
      }
    }
    return specs;
  }

  /// The helpers of network.hpp by name; 'use' lists kernels, all of them if it is not there.
  void read_shape(const Json& json) {
    const auto shape = string_of(json["shape"], "shape");
    require(!json.contains("root") && !json.contains("nodes"), source_,
            ": has a shape, so it must not have 'root' or 'nodes'");
    const auto p = p_of(json, "the shape");
    std::vector<KernelSpec> specs;
    if (json.contains("use")) {
      specs = specs_of(json["use"], "'use'");
    } else {
      for (const auto& [name, value] : entries(json, "kernels").items()) {
        specs.insert(specs.end(), families_[name].begin(), families_[name].end());
      }
    }
    if (shape == "one-layer") {
      add_one_layer(specs, p);
    } else if (shape == "groups") {
      std::vector<Node> top;
      for (const auto& [name, list] : entries(json, "groups").items()) {
        const auto specs_of_group = specs_of(list, concat("group '", name, "'"));
        top.push_back(builder_.product({add_one_layer(specs_of_group, p, {})}, name, p));
      }
      builder_.sum(std::move(top), "root");
    } else if (shape == "polynomial") {
      require(json.contains("degree"), source_,
              ": the shape polynomial has no degree, but must have one");
      const int degree = degree_of(json["degree"], "the shape");
      const Node all = add_one_layer(specs, p, "kernels");
      std::vector<Node> powers;
      for (int d = 1; d <= degree; ++d) {
        powers.push_back(builder_.product(std::vector<Node>(static_cast<std::size_t>(d), all),
                                          concat("power", d), p));
      }
      builder_.sum(std::move(powers), "root");
    } else {
      throw InvalidInput(
          where("shape is '", shape, "', but must be one of one-layer, groups, polynomial"));
    }
  }

  Node add_one_layer(const std::vector<KernelSpec>& specs, std::optional<double> p,
                     const std::string& name = "root") {
    std::vector<Node> products;
    for (const auto& spec : specs) products.push_back(builder_.product({kernel_node(spec)}, {}, p));
    return builder_.sum(std::move(products), name);
  }

  void require_all_used() const {
    for (const auto& [name, family] : families_) {
      require(used_kernels_.contains(name), where("kernel '", name, "'"),
              " is not below the root, but must be");
    }
    if (!nodes_.is_object()) return;
    for (const auto& [name, value] : nodes_.items()) {
      require(made_nodes_.contains(name), where("node '", name, "'"),
              " is not below the root, but must be");
    }
  }

  std::string source_;
  std::uint32_t num_columns_;
  NetworkBuilder builder_;
  std::map<std::string, std::vector<ColumnRange>> views_;
  std::map<std::string, std::vector<KernelSpec>> families_;
  Json nodes_ = Json::object();
  std::map<std::string, Node> made_kernels_, made_nodes_;
  std::set<std::string> used_kernels_, open_;
  int depth_ = 0;
  std::size_t num_kernels_ = 0, spec_bytes_ = 0, num_children_ = 0;
};

// Writing ----------------------------------------------------------------------------------------
// Text, because trees of the JSON library ask for memory when they are destroyed, and end the
// program where there is none.

/// A text, a number or a truth value.
template <class T>
std::string scalar(const T& value) {
  return Json(value).dump();
}
template <class T>
std::string member(std::string_view key, const T& value) {
  return scalar(std::string(key)) + ": " + scalar(value);
}

/// Members of an object or of a list, each on a line of its own; `depth` is that of the brackets.
std::string block(std::string_view brackets, const std::vector<std::string>& members, int depth) {
  if (members.empty()) return std::string(brackets);
  std::string text(brackets.substr(0, 1));
  for (const std::string& each : members) {
    if (text.size() > 1) text += ',';
    text += '\n' + std::string(depth + 1, ' ') + each;
  }
  return text + '\n' + std::string(depth, ' ') + std::string(brackets.substr(1));
}
std::string named_block(const std::string& key, std::string_view brackets,
                        const std::vector<std::string>& members, int depth) {
  return scalar(key) + ": " + block(brackets, members, depth);
}

std::string kernel_text(const KernelSpec& spec) {
  std::vector<std::string> members{member("type", name_of(spec.type))};
  if (has_width(spec.type)) {
    members.push_back(spec.width_in_medians ? member("width", concat(spec.width, " median"))
                                            : member("width", spec.width));
  }
  if (spec.type == KernelType::polynomial) {
    members.push_back(member("degree", spec.degree));
    members.push_back(member("slope", spec.slope));
    members.push_back(member("offset", spec.offset));
  }
  members.push_back(member("scaling", name_of(spec.scaling)));
  if (spec.centred) members.push_back(member("centred", true));
  if (!spec.columns.empty()) members.push_back(member("columns", format_columns(spec.columns)));
  if (!spec.file.empty()) members.push_back(member("file", spec.file));
  return named_block(spec.name, "{}", members, 2);
}

std::string node_text(const SumProductNetwork& network, const SumProductNetwork::Node& node) {
  std::vector<std::string> children;
  for (const auto child : node.children) children.push_back(scalar(network.nodes()[child].name));
  const std::string kind = node.kind == SumProductNetwork::Kind::sum ? "sum" : "product";
  std::vector<std::string> members{named_block(kind, "[]", children, 3)};
  if (node.p) members.push_back(member("p", *node.p));
  return named_block(node.name, "{}", members, 2);
}

}  // namespace

SumProductNetwork parse_network(const std::string& json, const std::string& source,
                                std::uint32_t num_columns, std::span<const NamedView> views) {
  return Reader(source, num_columns).read(json, views);
}

SumProductNetwork read_network(const std::string& path, std::uint32_t num_columns,
                               std::span<const NamedView> views) {
  std::ifstream file(path);
  require(file.good(), "network file ", path, ": cannot be read");
  std::stringstream text;
  text << file.rdbuf();
  return parse_network(text.str(), path, num_columns, views);
}

std::string format_network(const SumProductNetwork& network) {
  std::vector<std::string> kernels, nodes;
  for (const auto& spec : network.kernels()) kernels.push_back(kernel_text(spec));
  for (const auto& node : network.nodes()) {
    if (node.kind != SumProductNetwork::Kind::kernel) nodes.push_back(node_text(network, node));
  }
  return block("{}",
               {named_block("kernels", "{}", kernels, 1), named_block("nodes", "{}", nodes, 1),
                member("root", network.nodes()[network.root()].name)},
               0);
}

}  // namespace margrove
