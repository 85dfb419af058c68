// The manual, written from the lists of parameters: pages for man(1), pages of the site in
// markdown, and JSON for whoever wants to know what there is.
#pragma once

#include <string>
#include <vector>

#include "apps/tool.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::apps {

/// "attractor", or "attractor-reduce-pair".
std::string page_name(const std::string& tool);

/// attractor(1): all tools, what they have in common, exit status.
std::string man_overview(const std::vector<Tool>& tools);
/// attractor-flow(1) and its likes.
std::string man_page(const Tool& tool);

/// A page of the site: each option with what it is, what it allows and its default.
std::string markdown_page(const Tool& tool);

/// Name, about, examples and parameters of each.
lab::Json manual_json(const std::vector<Tool>& tools);

/// The commands among the examples of a tool, a line each, as they are typed.
std::vector<std::string> example_commands(const Tool& tool);

}  // namespace attractor::apps
