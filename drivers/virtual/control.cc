// SPDX-License-Identifier: BSD-3-Clause
// Changes while traffic runs: put into a ring by the control thread, carried out by the pump.
#include <rte_ethdev.h>

#include "virtual/impl.h"

namespace mrc::virt {

using fabric::Action;
using fabric::Scope;

void VirtualFabric::Impl::run_commands(Time now) {
  Command c;
  while (commands.pop(std::span(&c, 1)) == 1) {
    if (!execute(c, now)) ++counters.bad_command;
    commands_done.fetch_add(1, std::memory_order_release);
  }
}

bool VirtualFabric::Impl::execute(const Command& c, Time now) {
  switch (c.what) {
    case Command::What::kChange:
      return apply_change(c.change, now);
    case Command::What::kPort:
      return apply_port(c, now);
    case Command::What::kWatch:
      return watches.add(*fabric, c.plane, c.path, now);
    case Command::What::kSteer:
      return apply_steer(c);
  }
  return false;
}

bool VirtualFabric::Impl::apply_change(const fabric::Change& change, Time now) {
  give(now);  // what arrived before the change was not touched by it
  if (!fabric->apply(change, now)) return false;
  const bool state = change.action == Action::kDown || change.action == Action::kUp;
  if (state && change.target.scope == Scope::kSwitch) {
    if (!watches.empty()) watches.poll(*fabric, now);
    watches.note_state(change.target.id, change.action == Action::kUp, now);
  }
  return true;
}

bool VirtualFabric::Impl::apply_port(const Command& c, Time now) {
  if (c.host >= fabric->topology().hosts || c.plane >= fabric->topology().planes) return false;
  fabric::Change change;
  change.action = c.up ? Action::kUp : Action::kDown;
  change.target = {Scope::kHostPort, c.host * fabric->topology().planes + c.plane};
  if (!apply_change(change, now)) return false;
  const std::uint16_t id = ports[change.target.id].ethdev->id();
  return (c.up ? rte_eth_dev_set_link_up(id) : rte_eth_dev_set_link_down(id)) == 0;
}

bool VirtualFabric::Impl::apply_steer(const Command& c) {
  if (c.host >= steering.size() || c.queue >= config.queues) return false;
  std::vector<Steered>& table = steering[c.host];
  for (Steered& s : table) {
    if (s.ip == c.ip) {
      s.queue = c.queue;
      return true;
    }
  }
  if (table.size() >= kMaxSteered) return false;
  table.push_back({c.ip, c.queue});
  return true;
}

bool VirtualFabric::Impl::send(const Command& command) {
  return commands.push(command);
}

bool VirtualFabric::change(const fabric::Change& change) {
  Command c;
  c.change = change;
  return impl_->send(c);
}

namespace {

fabric::Change on_path(const fabric::Fabric& f, Action action, std::uint32_t plane, std::uint32_t path) {
  fabric::Change c;
  c.action = action;
  c.target = {Scope::kSwitch, f.topology().find(plane, 1, path)};
  return c;
}

}  // namespace

bool VirtualFabric::set_path_up(std::uint32_t plane, std::uint32_t path, bool up) {
  return change(on_path(*impl_->fabric, up ? Action::kUp : Action::kDown, plane, path));
}

bool VirtualFabric::set_path_delay(std::uint32_t plane, std::uint32_t path, Duration delay) {
  fabric::Change c = on_path(*impl_->fabric, Action::kDelay, plane, path);
  c.duration = delay;
  return delay.ns >= 0 && change(c);
}

bool VirtualFabric::set_path_loss(std::uint32_t plane, std::uint32_t path, double probability) {
  fabric::Change c = on_path(*impl_->fabric, Action::kFaults, plane, path);
  c.faults.loss = probability;
  return change(c);
}

bool VirtualFabric::set_plane_loss(std::uint32_t plane, double probability) {
  fabric::Change c;
  c.action = Action::kFaults;
  c.target = {Scope::kPlane, plane};
  c.faults.loss = probability;
  return change(c);
}

bool VirtualFabric::set_port_up(fabric::HostId host, std::uint32_t plane, bool up) {
  Command c;
  c.what = Command::What::kPort;
  c.host = host;
  c.plane = plane;
  c.up = up;
  return impl_->send(c);
}

bool VirtualFabric::watch_path(std::uint32_t plane, std::uint32_t path) {
  Command c;
  c.what = Command::What::kWatch;
  c.plane = plane;
  c.path = path;
  return impl_->send(c);
}

bool VirtualFabric::steer(fabric::HostId host, const IpAddress& ip, std::uint16_t queue) {
  Command c;
  c.what = Command::What::kSteer;
  c.host = host;
  c.ip = ip;
  c.queue = queue;
  return impl_->send(c);
}

std::uint64_t VirtualFabric::commands_done() const {
  return impl_->commands_done.load(std::memory_order_acquire);
}

std::size_t VirtualFabric::take_observations(std::span<Observation> out) {
  return impl_->watches.take(out);
}

bool VirtualFabric::watch_totals(std::uint32_t plane, std::uint32_t path, WatchTotals& out) const {
  return impl_->watches.totals(plane, path, out);
}

}  // namespace mrc::virt
