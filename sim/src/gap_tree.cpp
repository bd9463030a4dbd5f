#include "gap_tree.h"

#include <algorithm>

#include "tessera/check.h"

namespace tessera::sim {
namespace {

// SplitMix64's finisher: spreads neighbouring addresses over all numbers.
std::uint64_t mix(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58'476d'1ce4'e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d0'49bb'1331'11ebU;
  return value ^ (value >> 31U);
}

}  // namespace

Bytes GapTree::largest(Index node) const { return node == none ? Bytes() : nodes_[node].largest; }

void GapTree::update(Index node) {
  Node& at = nodes_[node];
  at.largest = std::max({at.gap.size(), largest(at.left), largest(at.right)});
}

GapTree::Index GapTree::make_node(AddressRange gap) {
  const Node node = {.gap = gap, .largest = gap.size(), .priority = mix(gap.begin().value())};
  if (!unused_.empty()) {
    const Index index = unused_.back();
    unused_.pop_back();
    nodes_[index] = node;
    return index;
  }
  TESSERA_CHECK(nodes_.size() < none);
  nodes_.push_back(node);
  return static_cast<Index>(nodes_.size() - 1);
}

GapTree::Halves GapTree::split(Index node, DeviceAddress begin) {
  if (node == none) {
    return {none, none};
  }
  if (nodes_[node].gap.begin() < begin) {
    const Halves halves = split(nodes_[node].right, begin);
    nodes_[node].right = halves.below;
    update(node);
    return {node, halves.from};
  }
  const Halves halves = split(nodes_[node].left, begin);
  nodes_[node].left = halves.from;
  update(node);
  return {halves.below, node};
}

GapTree::Index GapTree::merge(Index below, Index from) {
  if (below == none || from == none) {
    return below == none ? from : below;
  }
  if (nodes_[below].priority >= nodes_[from].priority) {
    nodes_[below].right = merge(nodes_[below].right, from);
    update(below);
    return below;
  }
  nodes_[from].left = merge(below, nodes_[from].left);
  update(from);
  return from;
}

GapTree::Index GapTree::insert_at(Index node, Index added) {
  const DeviceAddress begin = nodes_[added].gap.begin();
  if (node == none || nodes_[node].priority < nodes_[added].priority) {
    const Halves halves = split(node, begin);
    nodes_[added].left = halves.below;
    nodes_[added].right = halves.from;
    update(added);
    return added;
  }
  Node& at = nodes_[node];
  TESSERA_CHECK(at.gap.begin() != begin);
  if (begin < at.gap.begin()) {
    at.left = insert_at(at.left, added);
  } else {
    at.right = insert_at(at.right, added);
  }
  update(node);
  return node;
}

GapTree::Index GapTree::erase_at(Index node, DeviceAddress begin) {
  TESSERA_CHECK(node != none);
  Node& at = nodes_[node];
  if (at.gap.begin() == begin) {
    unused_.push_back(node);
    return merge(at.left, at.right);
  }
  if (begin < at.gap.begin()) {
    at.left = erase_at(at.left, begin);
  } else {
    at.right = erase_at(at.right, begin);
  }
  update(node);
  return node;
}

void GapTree::replace_at(Index node, DeviceAddress begin, AddressRange gap) {
  TESSERA_CHECK(node != none);
  Node& at = nodes_[node];
  if (at.gap.begin() == begin) {
    at.gap = gap;
  } else {
    replace_at(begin < at.gap.begin() ? at.left : at.right, begin, gap);
  }
  update(node);
}

void GapTree::insert(AddressRange gap) {
  TESSERA_CHECK(!gap.is_empty());
  const Index added = make_node(gap);
  root_ = insert_at(root_, added);
}

void GapTree::erase(DeviceAddress begin) { root_ = erase_at(root_, begin); }

void GapTree::replace(DeviceAddress begin, AddressRange gap) {
  TESSERA_CHECK(!gap.is_empty());
  replace_at(root_, begin, gap);
}

std::optional<AddressRange> GapTree::first_fit(Bytes size) const {
  if (root_ == none || largest(root_) < size) {
    return std::nullopt;
  }
  // Some gap at or below `node` is large enough, always.
  Index node = root_;
  for (;;) {
    const Node& at = nodes_[node];
    if (at.left != none && largest(at.left) >= size) {
      node = at.left;
    } else if (at.gap.size() >= size) {
      return at.gap;
    } else {
      node = at.right;
    }
  }
}

std::optional<AddressRange> GapTree::at(DeviceAddress begin) const {
  Index node = root_;
  while (node != none && nodes_[node].gap.begin() != begin) {
    node = begin < nodes_[node].gap.begin() ? nodes_[node].left : nodes_[node].right;
  }
  return node == none ? std::nullopt : std::optional(nodes_[node].gap);
}

std::optional<AddressRange> GapTree::last_before(DeviceAddress address) const {
  std::optional<AddressRange> found;
  Index node = root_;
  while (node != none) {
    const Node& at = nodes_[node];
    if (at.gap.begin() < address) {
      found = at.gap;
      node = at.right;
    } else {
      node = at.left;
    }
  }
  return found;
}

std::vector<AddressRange> GapTree::gaps() const {
  std::vector<AddressRange> gaps;
  std::vector<Index> path;
  Index node = root_;
  while (node != none || !path.empty()) {
    for (; node != none; node = nodes_[node].left) {
      path.push_back(node);
    }
    node = path.back();
    path.pop_back();
    gaps.push_back(nodes_[node].gap);
    node = nodes_[node].right;
  }
  return gaps;
}

std::string GapTree::check_invariants() const {
  const std::vector<AddressRange> in_order = gaps();
  if (in_order.size() + unused_.size() != nodes_.size()) {
    return "gap tree: nodes were lost";
  }
  for (std::size_t i = 1; i < in_order.size(); ++i) {
    if (in_order[i].begin() < in_order[i - 1].end()) {
      return "gap tree: gaps overlap";
    }
  }
  std::vector<Index> open;
  if (root_ != none) {
    open.push_back(root_);
  }
  while (!open.empty()) {
    const Node& at = nodes_[open.back()];
    open.pop_back();
    if (at.largest != std::max({at.gap.size(), largest(at.left), largest(at.right)})) {
      return "gap tree: a node's largest gap is wrong";
    }
    for (const Index child : {at.left, at.right}) {
      if (child != none) {
        if (nodes_[child].priority > at.priority) {
          return "gap tree: a node stands below one of lower priority";
        }
        open.push_back(child);
      }
    }
  }
  return {};
}

}  // namespace tessera::sim
