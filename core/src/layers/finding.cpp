#include "tessera/layers/finding.h"

#include "tessera/leak_report.h"
#include "text.h"

namespace tessera {
namespace {

std::string what_the_driver_does(const Finding& finding, const Rule& rule) {
  if (rule.source == RuleSource::portability) {
    return "This driver takes it; others need not.";
  }
  // What it did answer says more than what an H200's does.
  if (finding.answer != ErrorCode{}) {
    const bool is_undefined = rule.consequence == Consequence::crashes;
    return "The driver answers " + code_name(finding.answer) +
           (is_undefined ? "; a real one may end the process, here or later." : ".");
  }
  switch (rule.consequence) {
    case Consequence::refused:
      return "The driver refuses it.";
    case Consequence::accepted_silently:
      return "The driver says nothing.";
    case Consequence::crashes:
      return "A real driver ends the process here.";
    case Consequence::lost_context:
      return "The driver says nothing, and the work may fault: then every context of the process "
             "is lost.";
  }
  return {};
}

}  // namespace

std::string to_string(const Finding& finding) {
  const Rule& rule = rule_of(finding.rule);
  std::string text;
  if (finding.call == Call::none) {
    text = "at the end";
  } else {
    text = "call " + std::to_string(finding.call_number) + ", ";
    text += method_name(finding.call);
    if (finding.site.is_known()) {
      text += " at " + std::string(finding.site.file) + ":" + std::to_string(finding.site.line);
    }
  }
  text += ": rule " + std::string(rule.name) + " (";
  text += std::to_string(static_cast<unsigned>(rule.id)) + "): ";
  text += text::fill(rule.done, finding.values);
  if (finding.object.call_number != 0) {
    text += ", " + to_string(finding.object);
  }
  text += ". ";
  text += finding.was_refused ? "The call was not made." : what_the_driver_does(finding, rule);
  return text + " Instead: " + text::fill(rule.instead, finding.values) + ".";
}

}  // namespace tessera
