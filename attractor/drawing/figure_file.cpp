#include "attractor/drawing/figure_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/drawing/gnuplot.hpp"

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

constexpr double kFontSize = 13;
constexpr double kPointRadius = 0.375 * kFontSize;  // of gnuplot's pointsize 1, pixels

// ---- From the description to a script.

// A single-quoted string: gnuplot substitutes nothing in it; \ protects from enhanced text.
std::string literal(std::string_view text, bool bold = false) {
  std::string result = bold ? "'{/:Bold " : "'";
  std::size_t open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool script = (c == '^' || c == '_') && i + 1 < text.size() && text[i + 1] == '{' &&
                        text.find('}', i) != std::string_view::npos;
    if (script) {
      result += c;
      result += '{';
      ++open;
      ++i;
    } else if (c == '}' && open > 0) {
      result += c;
      --open;
    } else if (c == '\'') {
      result += "’";  // so that nothing ends the string
    } else if (std::strchr("\\{}^_&@~", c) != nullptr && c != '\0') {
      result += '\\';
      result += c;
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  result.append(open, '}');
  return result + (bold ? "}'" : "'");
}

std::string hex(Colour colour) { return fmt::format("'#{:06x}'", colour & 0xffffff); }

bool drawable(double value, const Axis& axis) {
  constexpr double kMost = 1e300;  // leaves room for margins
  return std::abs(value) <= kMost && (axis.scale != Scale::log || value > 1 / kMost);
}

struct Range {
  double low, high;
};

// A map fills its panel: half a cell beyond the outer centres.
Range heat_range(const std::vector<double>& at, const Axis& axis) {
  const double low = at.front(), high = at.back(), cells = static_cast<double>(at.size() - 1);
  if (axis.scale != Scale::log)
    return {low - (high - low) / cells / 2, high + (high - low) / cells / 2};
  const double half = std::pow(high / low, 0.5 / cells);
  return {low / half, high * half};
}

// The range of an axis: as given, or around the data, never empty.
Range range(const Panel& panel, const Axis& axis, std::vector<double> Series::*values) {
  double low = kInfinity, high = -low;
  for (const Series& series : panel.series) {
    for (const double value : series.*values) {
      if (drawable(value, axis)) low = std::min(low, value), high = std::max(high, value);
    }
    if (series.mark == Mark::boxes && values == &Series::y && axis.scale != Scale::log)
      low = std::min(low, 0.0), high = std::max(high, 0.0);
  }
  if (panel.heat) {
    const std::vector<double>& at = values == &Series::x ? panel.heat->x : panel.heat->y;
    return heat_range(at, axis);
  }
  const bool log = axis.scale == Scale::log;
  if (low > high) low = high = log ? 1 : 0;
  const double share = 0.04;
  const double margin = log ? std::pow(high / low, share) : (high - low) * share;
  if (!std::isnan(axis.low))
    low = axis.low;
  else if (low != 0)
    low = log ? low / margin : low - margin;
  if (!std::isnan(axis.high))
    high = axis.high;
  else
    high = log ? high * margin : high + margin;
  constexpr double kResolved = 1e-9;  // narrower is one point
  if (log) return high / low > 1 + kResolved ? Range{low, high} : Range{low / 2, low * 2};
  if (high - low > 1e-290 + kResolved * std::max(std::abs(low), std::abs(high))) return {low, high};
  const double half = std::max(0.5, 1e-6 * std::abs(low));
  return {low - half, low + half};
}

// 1, 2 or 5 times a power of ten, with at most `most` ticks in the range; at least `least`.
double tick_step(const Range& r, double most, double least) {
  const double wanted = (r.high - r.low) / most;
  const double decade = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0})
    if (factor * decade >= wanted) return std::max(least, factor * decade);
  return std::max(least, 10 * decade);
}

// 1, 2 and 5 in every decade.
std::string log_ticks(const Range& r) {
  std::string ticks;
  for (double decade = std::floor(std::log10(r.low)); std::pow(10, decade) <= r.high; ++decade) {
    for (const int digit : {1, 2, 5}) {
      const double tick = digit * std::pow(10, decade);
      if (tick >= r.low && tick <= r.high)
        ticks += fmt::format("{}{:.6g}", ticks.empty() ? "" : ",", tick);
    }
  }
  return ticks;
}

std::string axis_commands(const Axis& axis, char letter, const Range& r, double pixels) {
  std::string text = fmt::format("set {}range [{:.12g}:{:.12g}]\n", letter, r.low, r.high);
  text += fmt::format("set {}label {}\n", letter, literal(axis.label));
  text += fmt::format("{} logscale {}\n", axis.scale == Scale::log ? "set" : "unset", letter);
  if (!axis.ticks) return text + fmt::format("unset {}tics\n", letter);
  const double most = std::clamp(pixels / (letter == 'x' ? 64 : 48), 3.0, 10.0);
  switch (axis.scale) {
    case Scale::linear:
      return text + fmt::format("set {}tics {:.12g} format '%g'\n", letter, tick_step(r, most, 0));
    case Scale::power:
      return text +
             fmt::format("set {}tics {:.12g} format '10^{{%g}}'\n", letter, tick_step(r, most, 1));
    case Scale::log:
      break;
  }
  if (r.high / r.low > 5 && r.high / r.low < 1e3)
    return text + fmt::format("set {}tics ({}) format '%g'\n", letter, log_ticks(r));
  return text + fmt::format("set {}tics autofreq format {}\n", letter,
                            r.high / r.low > 5 ? "'10^{%T}'" : "'%g'");
}

std::string guide_commands(const Panel& panel, const Range& x, const Range& y) {
  std::string text;
  const auto add = [&text](const Guide& g, std::string_view from, std::string_view to) {
    text += fmt::format("set arrow from {} to {} nohead back lc rgb {} lw {:.3g} dt {}\n", from, to,
                        hex(g.colour), g.width, g.dashed ? "(6,5)" : "solid");
  };
  for (const Guide& g : panel.vertical)
    if (g.at >= x.low && g.at <= x.high)
      add(g, fmt::format("first {:.12g}, graph 0", g.at),
          fmt::format("first {:.12g}, graph {:.6g}", g.at, g.length));
  for (const Guide& g : panel.horizontal)
    if (g.at >= y.low && g.at <= y.high)
      add(g, fmt::format("graph 0, first {:.12g}", g.at),
          fmt::format("graph {:.6g}, first {:.12g}", g.length, g.at));
  return text;
}

// The rows of a series; a blank line interrupts it. Empty if there is nothing to draw.
std::string rows(const Series& series, const Panel& panel) {
  const std::size_t count = series.x.size();
  if (series.y.size() != count || (!series.sizes.empty() && series.sizes.size() != count) ||
      (!series.colours.empty() && series.colours.size() != count))
    throw Error(fmt::format("series '{}' has {} x, {} y, {} sizes and {} colours", series.title,
                            count, series.y.size(), series.sizes.size(), series.colours.size()));
  std::string text;
  bool gap = false;
  for (std::size_t i = 0; i < count; ++i) {
    const bool sized = series.sizes.empty() || std::isfinite(series.sizes[i]);
    if (!drawable(series.x[i], panel.x) || !drawable(series.y[i], panel.y) || !sized) {
      gap = true;
      continue;
    }
    if (std::exchange(gap, false) && !text.empty()) text += "\n";
    text += fmt::format("{:.9g} {:.9g}", series.x[i], series.y[i]);
    if (!series.sizes.empty()) text += fmt::format(" {:.4g}", series.sizes[i] / kPointRadius);
    if (!series.colours.empty()) text += fmt::format(" {}", series.colours[i] & 0xffffff);
    text += "\n";
  }
  return text;
}

// Cells as filled boxes: also right on logarithmic axes, and sharp in every format.
std::string heat_rows(const Heat& heat, const Panel& panel, const Range& x, const Range& y) {
  const std::size_t columns = heat.x.size(), lines = heat.y.size();
  if (columns < 2 || lines < 2 || heat.value.size() != columns * lines)
    throw Error(fmt::format("a map has {} columns, {} rows and {} values", columns, lines,
                            heat.value.size()));
  // Each cell reaches a little under its neighbours, or smoothing would leave bright seams.
  const auto edge = [](const Range& r, std::size_t k, std::size_t count, bool log) {
    const double overlap = k == 0 ? 0 : 0.1;
    const double share =
        std::min(1.0, (static_cast<double>(k) + overlap) / static_cast<double>(count));
    return log ? r.low * std::pow(r.high / r.low, share) : r.low + (r.high - r.low) * share;
  };
  const bool log_x = panel.x.scale == Scale::log, log_y = panel.y.scale == Scale::log;
  std::string text;
  for (std::size_t iy = 0; iy < lines; ++iy)
    for (std::size_t ix = 0; ix < columns; ++ix) {
      const double value = heat.value[iy * columns + ix];
      if (!std::isfinite(value)) continue;
      text += fmt::format("{:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.6g} {:.5g}\n", heat.x[ix],
                          heat.y[iy], edge(x, ix, columns, log_x), edge(x, ix + 1, columns, log_x),
                          edge(y, iy, lines, log_y), edge(y, iy + 1, lines, log_y), value);
    }
  return text;
}

// Viridis in nine steps: even in lightness, and safe for colour-blind readers.
std::string heat_commands(const Heat& heat) {
  return fmt::format(
      "set palette defined (0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', 4 '#21908d', "
      "5 '#27ad81', 6 '#5cc863', 7 '#aadc32', 8 '#fde725')\n"
      "set cbrange [{:.9g}:{:.9g}]\nset cblabel {}\nset cbtics out nomirror scale 0.5\n"
      "set colorbox noborder\n",
      heat.low, heat.high, literal(heat.label));
}

std::string style(const Series& series) {
  const std::string colour =
      series.colours.empty() ? "lc rgb " + hex(series.colour) : std::string("lc rgb variable");
  const std::string dash = series.dashed ? "dt (6,4)" : "dt solid";
  switch (series.mark) {
    case Mark::lines:
      return fmt::format("lines {} lw {:.3g} {}", colour, series.width, dash);
    case Mark::steps:
      return fmt::format("steps {} lw {:.3g} {}", colour, series.width, dash);
    case Mark::boxes:
      return fmt::format("boxes {} fs solid 0.85 noborder", colour);
    case Mark::points:
      break;
  }
  return fmt::format(
      "points pt 7 ps {} {}",
      series.sizes.empty() ? fmt::format("{:.4g}", series.size / kPointRadius) : "variable",
      colour);
}

// The title, and below it a line for each entry of the legend: never over the data.
std::string heading_commands(const std::string& title, const Panel& panel) {
  const auto entries = std::count_if(panel.series.begin(), panel.series.end(),
                                     [](const Series& s) { return !s.title.empty(); });
  return fmt::format("set title {} offset 0,{:.2f}\nset tmargin {:.2f}\n", title,
                     -0.3 + 1.1 * static_cast<double>(entries),
                     1.9 + 1.1 * static_cast<double>(entries));
}

std::string panel_commands(const Panel& panel, std::size_t index, double width, double height) {
  const Range x = range(panel, panel.x, &Series::x), y = range(panel, panel.y, &Series::y);
  std::string text = "unset arrow\n", plots;
  if (panel.heat) {
    text += heat_commands(*panel.heat);
    text += fmt::format("$p{}heat << END\n{}END\n", index, heat_rows(*panel.heat, panel, x, y));
    plots = fmt::format(
        "$p{}heat using 1:2:3:4:5:6:7 with boxxyerror fs solid noborder lc palette notitle", index);
  }
  for (std::size_t s = 0; s < panel.series.size(); ++s) {
    const Series& series = panel.series[s];
    const std::string data = rows(series, panel);
    if (data.empty()) continue;
    text += fmt::format("$p{}s{} << END\n{}END\n", index, s, data);
    const std::string columns = fmt::format("1:2{}{}", series.sizes.empty() ? "" : ":3",
                                            series.colours.empty() ? ""
                                            : series.sizes.empty() ? ":3"
                                                                   : ":4");
    plots += fmt::format("{}$p{}s{} using {} with {} {}", plots.empty() ? "" : ", ", index, s,
                         columns, style(series),
                         series.title.empty() ? "notitle" : "title " + literal(series.title));
  }
  text +=
      "set border 3 lc rgb '#6b7280' lw 1\nset tics out nomirror scale 0.5\n"
      "set grid xtics ytics back lt 1 lc rgb '#e5e7eb' lw 1\nset lmargin\nset rmargin\n"
      "set bmargin\n";
  text += axis_commands(panel.x, 'x', x, width) + axis_commands(panel.y, 'y', y, height);
  text += guide_commands(panel, x, y);
  if (panel.bare)
    text +=
        "unset border\nunset xtics\nunset ytics\nunset grid\nset lmargin 0.5\nset rmargin 0.5\n"
        "set bmargin 0.5\n";
  text += panel.equal_scale ? "set size ratio -1\n" : "set size noratio\n";
  return text + "plot " + (plots.empty() ? "NaN notitle" : plots) + "\n";
}

// The factors make the three formats look alike.
std::string terminal(const Figure& figure, Format format) {
  const double w = figure.width, h = figure.height;
  switch (format) {
    case Format::pdf:
      return fmt::format(
          "pdfcairo size {:.6g}in,{:.6g}in fontscale 0.75 linewidth 2 pointscale 1.55 rounded "
          "enhanced",
          w / 72, h / 72);
    case Format::png:
      return fmt::format(
          "pngcairo size {:.0f},{:.0f} fontscale 1.5 linewidth 2 pointscale 3.1 rounded enhanced",
          2 * w, 2 * h);
    case Format::svg:
      break;
  }
  return fmt::format("svg size {:.0f},{:.0f} dynamic rounded enhanced name '{}'", w, h, figure.id);
}

std::string script(const Figure& figure, Format format) {
  if (figure.panels.empty() || figure.columns == 0 || !(figure.width >= 50 && figure.height >= 50))
    throw Error(
        fmt::format("figure '{}' needs panels, columns and at least 50 x 50 pixels", figure.id));
  const auto identifier = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (figure.id.empty() || !std::all_of(figure.id.begin(), figure.id.end(), identifier))
    throw Error(fmt::format("figure id '{}' must consist of a-z, 0-9 and _", figure.id));
  std::string text = fmt::format(
      "set encoding utf8\nset terminal {} background rgb 'white' "
      "font 'DejaVu Sans,{}'\n",
      terminal(figure, format), kFontSize);
  text +=
      "set minussign\nset boxwidth 0.9 relative\nset tics textcolor rgb '#374151'\n"
      "set key at graph 0, graph 1 left bottom vertical Left reverse nobox samplen 1.6\n";
  const bool grid = figure.panels.size() > 1;
  const std::size_t lines = (figure.panels.size() + figure.columns - 1) / figure.columns;
  const double width = figure.width / static_cast<double>(figure.columns);
  const double height = figure.height / static_cast<double>(lines);
  if (grid)
    text += fmt::format("set multiplot layout {},{}{}\n", lines, figure.columns,
                        figure.title.empty() ? "" : " title " + literal(figure.title, true));
  for (std::size_t p = 0; p < figure.panels.size(); ++p) {
    const bool own = grid || !figure.panels[p].title.empty();
    text += heading_commands(own ? literal(figure.panels[p].title) : literal(figure.title, true),
                             figure.panels[p]);
    text += panel_commands(figure.panels[p], p, width, height);
  }
  return text + (grid ? "unset multiplot\n" : "");
}

// ---- What gnuplot wrote, made fit for a page and for comparison.

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t hit; (hit = text.find(from, at)) != std::string::npos; at = hit + from.size())
    result.append(text, at, hit - at).append(to);
  text = std::move(result.append(text, at));
}

void remove_between(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;) {
    const std::size_t end = text.find(to, at);
    if (end == std::string::npos) return;
    text.erase(at, end + to.size() - at);
  }
}

// Unique ids, a font that exists everywhere, no tooltips, no empty groups, and & escaped (gnuplot
// forgets it in enhanced text).
std::string tidy_svg(std::string text, const std::string& id) {
  remove_between(text, "<title>", "</title>");
  remove_between(text, "<desc>", "</desc>");
  for (std::size_t at = 0; (at = text.find("<g fill=", at)) != std::string::npos;) {
    const std::size_t end = text.find(">\n", at);
    if (end != std::string::npos && text.compare(end, 7, ">\n</g>\n") == 0)
      text.erase(at, end + 7 - at);
    else
      at += 8;
  }
  for (const std::string_view name : {"gpPt", "gpDot", "gnuplot_canvas", "textbox", "greybox"})
    for (const std::string_view before : {"id='", "id=\"", "href='#"})
      replace_all(text, fmt::format("{}{}", before, name),
                  fmt::format("{}{}_{}", before, id, name));
  replace_all(text, "\"DejaVu Sans\"", "\"DejaVu Sans, Verdana, sans-serif\"");
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    const std::string_view rest = std::string_view(text).substr(i);
    const bool entity = rest.starts_with("&amp;") || rest.starts_with("&lt;") ||
                        rest.starts_with("&gt;") || rest.starts_with("&quot;") ||
                        rest.starts_with("&#");
    if (text[i] == '&' && !entity) result += "amp;";
  }
  return result;
}

std::string draw(const Figure& figure, Format format) {
  std::string picture = run_gnuplot(script(figure, format));
  if (format == Format::svg) return tidy_svg(std::move(picture), figure.id);
  if (format == Format::pdf) {
    const std::size_t date = picture.find("/CreationDate (D:");
    if (date != std::string::npos && date + 31 < picture.size())
      picture.replace(date + 17, 14, "20000101000000");  // as long as before: offsets hold
  }
  return picture;
}

}  // namespace

bool figures_available() { return gnuplot_available(); }

std::string svg(const Figure& figure) { return draw(figure, Format::svg); }
std::string png(const Figure& figure) { return draw(figure, Format::png); }

void write_figure(const Figure& figure, const fs::path& path, std::span<const Format> formats) {
  for (const Format format : formats) {
    fs::path target = path;
    target += format == Format::svg ? ".svg" : format == Format::pdf ? ".pdf" : ".png";
    write_file(target, draw(figure, format));
  }
}

}  // namespace attractor::report
