#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernel/network.hpp"
#include "kernel/network_drawing.hpp"
#include "kernel_networks.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

const std::string kFigure1 = R"({
  "views": {"left": "1-3", "right": "4,6-7"},
  "kernels": {
    "k1": {"type": "gaussian", "width": "median", "view": "left"},
    "k2": {"type": "gaussian", "width": "0.5 median", "view": "right"},
    "k3": {"type": "polynomial", "degree": 3, "offset": 2, "slope": 0.5},
    "k4": {"type": "linear", "columns": "2", "scaling": "diagonal"},
    "k5": {"type": "laplacian", "width": 1.5}, "k6": {"type": "cosine"},
    "k7": {"type": "linear", "centred": true}
  },
  "nodes": {"pair": {"sum": ["k3", {"product": ["k4"], "name": "b4", "p": 1.5}]}},
  "root": {"sum": [
    {"product": [{"sum": ["k1", "k2"]}], "name": "b8"},
    {"product": ["pair", {"sum": ["k5", "k6", "k7"]}], "name": "b9", "p": 2}
  ]}
})";

std::vector<std::vector<std::string>> kernel_names(const SumProductNetwork& network) {
  std::vector<std::vector<std::string>> result;
  for (const auto& path : network.paths()) {
    result.emplace_back();
    for (const auto k : path.kernels) result.back().push_back(network.kernels()[k].name);
  }
  return result;
}

TEST(NetworkJson, figure_1_reads_with_views_and_names) {
  const auto network = parse_network(kFigure1, "figure1.json", 7);
  EXPECT_EQ(network.paths().size(), 8U);
  EXPECT_EQ(network.num_products(), 9U);
  const auto& specs = network.kernels();
  const auto find = [&](const std::string& name) {
    for (const auto& spec : specs) {
      if (spec.name == name) return spec;
    }
    throw InvalidInput("not there");
  };
  EXPECT_EQ(find("k1").columns, (std::vector<ColumnRange>{{0, 3}}));
  EXPECT_EQ(find("k2").columns, (std::vector<ColumnRange>{{3, 4}, {5, 7}}));
  EXPECT_EQ(find("k2").width, 0.5);
  EXPECT_TRUE(find("k2").width_in_medians);
  EXPECT_FALSE(find("k5").width_in_medians);
  EXPECT_EQ(find("k3").degree, 3);
  EXPECT_EQ(find("k4").scaling, KernelScaling::diagonal);
  EXPECT_TRUE(find("k7").centred);
  for (const auto v : network.products()) {
    const auto& node = network.nodes()[v];
    if (node.name == "b9") {
      EXPECT_EQ(node.p, 2.0);
    } else if (node.name == "b4") {
      EXPECT_EQ(node.p, 1.5);
    } else {
      EXPECT_FALSE(node.p.has_value());
    }
  }
}

TEST(NetworkJson, written_networks_read_back_the_same) {
  const auto first = parse_network(kFigure1, "a", 7);
  const auto second = parse_network(format_network(first), "b", 7);
  EXPECT_EQ(format_network(parse_network(format_network(second), "c", 7)), format_network(second));
  auto names = kernel_names(first);
  auto again = kernel_names(second);
  for (auto* lists : {&names, &again}) {
    for (auto& list : *lists) std::sort(list.begin(), list.end());
    std::sort(lists->begin(), lists->end());
  }
  EXPECT_EQ(names, again);
  const std::vector<KernelSpec> specs{gaussian(0.1), gaussian(1e-9),
                                      polynomial(2, {{0, 1}, {2, 4}})};
  const auto cubes = polynomial_network(specs, 3);
  const auto read = parse_network(format_network(cubes), "cubes", 4);
  EXPECT_EQ(read.num_paths(), cubes.num_paths());
  EXPECT_EQ(std::vector<KernelSpec>(read.kernels().begin(), read.kernels().end()), specs);
}

TEST(NetworkJson, families_stand_for_many_kernels) {
  const auto network = parse_network(R"({
    "kernels": {"g": {"type": "gaussian", "widths": [0.5, "median"], "each_column": true},
                "q": {"type": "polynomial", "degrees": [1, 2, 3]}},
    "root": {"sum": ["g", "q"]}})",
                                     "n", 4);
  EXPECT_EQ(network.kernels().size(), 2U * 4 + 3);
  EXPECT_EQ(network.kernels()[1].name, "g/0.5/x2");
  EXPECT_EQ(network.kernels()[1].columns, (std::vector<ColumnRange>{{1, 2}}));
  EXPECT_EQ(network.kernels()[10].degree, 3);
}

TEST(NetworkJson, shapes_by_name) {
  const std::string kernels = R"("kernels": {"a": {"type": "linear"}, "b": {"type": "cosine"},
                                             "c": {"type": "polynomial", "degrees": [2, 3]}})";
  EXPECT_EQ(
      parse_network("{" + kernels + R"(, "shape": "one-layer", "p": 2})", "n", 4).num_products(),
      4U);
  const auto groups = parse_network(
      "{" + kernels + R"(, "shape": "groups", "groups": {"x": ["a", "b"], "y": ["c"]}})", "n", 4);
  EXPECT_EQ(groups.num_products(), 6U);
  EXPECT_EQ(groups.num_paths(), 4);
  const auto square = parse_network(
      "{" + kernels + R"(, "shape": "polynomial", "degree": 2, "use": ["a", "b"]})", "n", 4);
  EXPECT_EQ(square.num_paths(), 2 + 4);
}

TEST(NetworkJson, shared_nodes_are_shared) {
  const auto network = parse_network(R"({
    "kernels": {"a": {"type": "linear"}, "b": {"type": "cosine"}},
    "nodes": {"s": {"sum": ["a", "b"]}},
    "root": {"sum": [{"product": ["s"]}, {"product": ["s", "s"]}]}})",
                                     "n", 4);
  EXPECT_EQ(network.num_products(), 4U);
  EXPECT_EQ(network.num_paths(), 6);
}

std::string message_of(const std::string& json, std::uint32_t num_columns = 5) {
  try {
    parse_network(json, "net.json", num_columns);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(NetworkJson, wrong_texts_throw_with_source_and_place) {
  const auto with_root = [](const std::string& root) {
    return R"({"kernels": {"a": {"type": "linear"}}, "root": )" + root + "}";
  };
  const auto with_kernel = [](const std::string& kernel) {
    return R"({"kernels": {"a": )" + kernel + R"(}, "root": {"sum": ["a"]}})";
  };
  EXPECT_THAT(message_of("{"), HasSubstr("net.json: not JSON"));
  EXPECT_THAT(message_of(R"({"p": 2e999})"), HasSubstr("net.json: not JSON"));
  EXPECT_THAT(message_of("[]"), HasSubstr("the network is not an object"));
  EXPECT_THAT(message_of(R"({"roots": 1})"), HasSubstr("has the key 'roots', which is not known"));
  EXPECT_THAT(message_of("{}"), HasSubstr("neither 'root' nor 'shape'"));
  EXPECT_THAT(message_of(with_root(R"({"sum": ["b"]})")), HasSubstr("names 'b', which is neither"));
  EXPECT_THAT(message_of(with_root(R"({"sum": ["a"], "product": ["a"]})")),
              HasSubstr("either 'sum' or 'product'"));
  EXPECT_THAT(message_of(with_root(R"({"sum": ["a"], "p": 2})")),
              HasSubstr("only products have weights"));
  EXPECT_THAT(message_of(with_root(R"({"sum": "a"})")), HasSubstr("not a list"));
  EXPECT_THAT(message_of(with_root(R"({"product": ["a"]})")), HasSubstr("is not a sum"));
  EXPECT_THAT(message_of(with_root(R"({"sum": [{"sum": ["a"]}]})")),
              HasSubstr("layers must alternate"));
  EXPECT_THAT(message_of(with_root(R"({"sum": ["a", {"product": []}]})")),
              HasSubstr("has no children"));
  EXPECT_THAT(message_of(with_root(R"({"sum": [{"product": ["a"], "p": "x"}]})")),
              HasSubstr("must be a number"));
  EXPECT_THAT(
      message_of(
          R"({"kernels": {"a": {"type": "linear"}, "b": {"type": "linear"}}, "root": {"sum": ["a"]}})"),
      HasSubstr("kernel 'b' is not below the root"));
  EXPECT_THAT(
      message_of(
          R"({"kernels": {"a": {"type": "linear"}}, "nodes": {"x": {"product": ["a"]}}, "root": {"sum": ["a"]}})"),
      HasSubstr("node 'x' is not below the root"));
  EXPECT_THAT(message_of(R"({"kernels": {"a": {"type": "linear"}},
      "nodes": {"s": {"sum": ["v"]}, "v": {"product": ["s", "a"]}}, "root": "s"})"),
              HasSubstr("node 's' is below itself, but a network must have no cycle"));
  EXPECT_THAT(message_of(with_kernel("{}")), HasSubstr("kernel 'a' has no type"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "rbf"})")), HasSubstr("must be one of linear"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "linear", "color": 1})")),
              HasSubstr("the key 'color'"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "gaussian", "width": "wide"})")),
              HasSubstr("like '0.5 median'"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "gaussian", "width": -1})")),
              HasSubstr("width is -1"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "polynomial", "degree": 1.5})")),
              HasSubstr("whole number"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "linear", "columns": "3-1"})")),
              HasSubstr("count from 1 and not fall"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "linear", "columns": "a"})")),
              HasSubstr("must be like 3 or 1-20"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "linear", "columns": "4-6"})")),
              HasSubstr("lie within 1-5"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "linear", "view": "v"})")),
              HasSubstr("view 'v', which does not exist"));
  EXPECT_THAT(message_of(with_kernel(R"({"type": "gaussian", "widths": []})")),
              HasSubstr("not a list"));
  EXPECT_THAT(message_of(R"({"kernels": {"g": {"type": "gaussian", "widths": [1, 2]}},
                             "root": {"sum": [{"product": ["g"]}]}})"),
              HasSubstr("only sums may hold a family"));
  EXPECT_THAT(message_of(R"({"kernels": {}, "shape": "ring"})"), HasSubstr("shape is 'ring'"));
  std::string deep;
  for (int k = 0; k < 2000; ++k) deep += R"({"sum": [{"product": [)";
  EXPECT_THAT(message_of(with_root(deep + "\"a\"" +
                                   [] {
                                     std::string tail;
                                     for (int k = 0; k < 2000; ++k) tail += "]}]}";
                                     return tail;
                                   }())),
              HasSubstr("nested more than"));
  EXPECT_THROW(read_network("/no/such/file", 3), InvalidInput);
}

/// The text again and again, with commas between.
std::string list_of(const std::string& text, std::size_t count) {
  std::string list = text;
  for (std::size_t k = 1; k < count; ++k) list += "," + text;
  return list;
}

TEST(NetworkJson, short_texts_that_stand_for_much_throw) {
  const auto one_layer = [](const std::string& name, const std::string& fields) {
    return R"({"shape": "one-layer", "kernels": {")" + name + R"(": {"type": "gaussian", )" +
           fields + "}}}";
  };
  const std::string widths = R"("widths": [)" + list_of("1", 10'000) + "]";
  const std::string too_long =
      "net.json: names and columns of the kernels take more than 8388608 bytes";
  EXPECT_EQ(message_of(one_layer(std::string(10'000, 'a'), widths)), too_long);
  EXPECT_EQ(message_of(one_layer("a", R"("columns": ")" + list_of("1", 10'000) + "\", " + widths)),
            too_long);
  const std::string family = R"({"type": "gaussian", )" + widths + "}";
  std::string families = R"("k0": )" + family;
  for (int k = 1; k < 11; ++k) families += concat(", \"k", k, "\": ", family);
  EXPECT_EQ(message_of(R"({"shape": "one-layer", "kernels": {)" + families + "}}"),
            "net.json: the kernels stand for more than 100000 kernels");
  const std::string kernels = R"({"kernels": {"k": )" + family + "}, ";
  const std::string often = list_of("\"k\"", 101);
  const std::string too_many = "net.json: the nodes have more than 100000 children";
  EXPECT_EQ(message_of(kernels + R"("root": {"sum": [)" + often + "]}}"), too_many);
  EXPECT_EQ(message_of(kernels + R"("shape": "one-layer", "use": [)" + often + "]}"), too_many);
}

TEST(NetworkDrawing, shows_weights_and_escapes_names) {
  std::vector<KernelSpec> specs{gaussian(1, "a<b\"")};
  specs.push_back(polynomial(2, {{0, 2}}));
  const auto network = one_layer_network(specs);
  const std::vector<double> beta{0.25, 0};
  const auto lines = network_lines(network, beta);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_THAT(lines[1], HasSubstr("= 0.25"));
  EXPECT_THAT(lines[4], HasSubstr("polynomial of degree 2 on 1-2"));
  const auto dot = network_dot(network, beta);
  EXPECT_THAT(dot, HasSubstr("a<b\\\""));
  EXPECT_THAT(dot, HasSubstr("color=gray"));
  const auto svg = network_svg(network, beta);
  EXPECT_THAT(svg, HasSubstr("a&lt;b"));
  EXPECT_THAT(svg, HasSubstr("</svg>"));
  EXPECT_THROW(network_lines(network, std::vector<double>{1}), InvalidInput);
}

}  // namespace
}  // namespace margrove
