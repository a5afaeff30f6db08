#include "kernel/network_drawing.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

using Kind = SumProductNetwork::Kind;

void check(const SumProductNetwork& network, std::span<const double> beta) {
  require(beta.empty() || beta.size() == network.num_products(), "network drawing: ", beta.size(),
          " weights, but must be ", network.num_products());
}

std::string label_of(const SumProductNetwork& network, std::uint32_t number,
                     std::span<const double> beta) {
  const auto& node = network.nodes()[number];
  if (node.kind == Kind::sum) return "+";
  if (node.kind == Kind::kernel) return kernel_caption(network.kernels()[node.index]);
  return beta.empty() ? node.name : fmt::format("{} {:.4g}", node.name, beta[node.index]);
}

bool is_off(const SumProductNetwork::Node& node, std::span<const double> beta) {
  return node.kind == Kind::product && !beta.empty() && beta[node.index] <= 0;
}

void add_lines(const SumProductNetwork& network, std::span<const double> beta, std::uint32_t number,
               std::size_t depth, std::vector<bool>& written, std::vector<std::string>& lines) {
  const auto& node = network.nodes()[number];
  const std::string indent(2 * depth, ' ');
  if (node.kind == Kind::kernel) {
    lines.push_back(indent + label_of(network, number, beta));
    return;
  }
  std::string line = indent + (node.kind == Kind::sum ? "sum " : "product ") + node.name;
  if (node.kind == Kind::product && !beta.empty())
    line += fmt::format(" = {:.6g}", beta[node.index]);
  if (written[number]) {
    lines.push_back(line + " (above)");
    return;
  }
  written[number] = true;
  lines.push_back(line);
  for (const auto child : node.children) {
    add_lines(network, beta, child, depth + 1, written, lines);
  }
}

std::string escaped(const std::string& text, bool xml) {
  std::string result;
  for (const char c : text) {
    if (xml && c == '<') {
      result += "&lt;";
    } else if (xml && c == '>') {
      result += "&gt;";
    } else if (xml && c == '&') {
      result += "&amp;";
    } else if (!xml && (c == '"' || c == '\\')) {
      result += '\\';
      result += c;
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return result;
}

}  // namespace

std::string kernel_caption(const KernelSpec& spec) {
  std::string text = concat(spec.name, ": ", name_of(spec.type));
  if (has_width(spec.type)) {
    text += fmt::format(" {:.4g}{}", spec.width, spec.width_in_medians ? " medians" : "");
  }
  if (spec.type == KernelType::polynomial) text += concat(" of degree ", spec.degree);
  if (!spec.columns.empty()) {
    text += " on " + format_columns(spec.columns);
  }
  return text;
}

std::vector<std::string> network_lines(const SumProductNetwork& network,
                                       std::span<const double> beta) {
  check(network, beta);
  std::vector<std::string> lines;
  std::vector<bool> written(network.nodes().size(), false);
  add_lines(network, beta, network.root(), 0, written, lines);
  return lines;
}

std::string network_dot(const SumProductNetwork& network, std::span<const double> beta) {
  check(network, beta);
  std::string dot = "digraph network {\n  rankdir=TB;\n";
  for (std::uint32_t n = 0; n < network.nodes().size(); ++n) {
    const auto& node = network.nodes()[n];
    const std::string_view shape = node.kind == Kind::sum       ? "circle"
                                   : node.kind == Kind::product ? "box"
                                                                : "plaintext";
    dot += fmt::format("  n{} [shape={}, label=\"{}\"{}];\n", n, shape,
                       escaped(label_of(network, n, beta), false),
                       is_off(node, beta) ? ", color=gray, fontcolor=gray" : "");
    for (const auto child : node.children) dot += fmt::format("  n{} -> n{};\n", n, child);
  }
  return dot + "}\n";
}

std::string network_svg(const SumProductNetwork& network, std::span<const double> beta) {
  check(network, beta);
  constexpr double kColumnWidth = 150;
  constexpr double kRowHeight = 90;
  const std::size_t size = network.nodes().size();
  std::vector<std::size_t> depth(size, 0);
  for (std::size_t n = size; n-- > 0;) {  // parents come after their children
    for (const auto child : network.nodes()[n].children) {
      depth[child] = std::max(depth[child], depth[n] + 1);
    }
  }
  std::vector<std::size_t> in_row;
  std::vector<double> x(size), y(size);
  for (std::size_t n = 0; n < size; ++n) {
    in_row.resize(std::max(in_row.size(), depth[n] + 1), 0);
    x[n] = static_cast<double>(in_row[depth[n]]++);
    y[n] = (static_cast<double>(depth[n]) + 0.5) * kRowHeight;
  }
  const double width =
      kColumnWidth * static_cast<double>(*std::max_element(in_row.begin(), in_row.end()));
  for (std::size_t n = 0; n < size; ++n) {
    x[n] = (x[n] + 0.5) * width / static_cast<double>(in_row[depth[n]]);
  }
  double largest = 0;
  for (const double each : beta) largest = std::max(largest, each);
  std::string edges;
  std::string texts;
  for (std::uint32_t n = 0; n < size; ++n) {
    const auto& node = network.nodes()[n];
    for (const auto child : node.children) {
      const auto& product = node.kind == Kind::product ? node : network.nodes()[child];
      double stroke = 1;
      if (product.kind == Kind::product && largest > 0) {
        stroke = 0.3 + 4 * beta[product.index] / largest;
      }
      edges += fmt::format(
          "<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' stroke='#888' "
          "stroke-width='{:.2f}'/>\n",
          x[n], y[n], x[child], y[child], stroke);
    }
    texts += fmt::format(
        "<text x='{:.1f}' y='{:.1f}' text-anchor='middle' fill='{}' stroke='white' "
        "stroke-width='4' paint-order='stroke'>{}</text>\n",
        x[n], y[n] + 4, is_off(node, beta) ? "#aaa" : "#000",
        escaped(label_of(network, n, beta), true));
  }
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{:.0f}' height='{:.0f}' "
      "font-family='sans-serif' font-size='12'>\n{}{}</svg>\n",
      width, kRowHeight * static_cast<double>(in_row.size()), edges, texts);
}

}  // namespace margrove
