// Memory unmapped while work uses it. No call of virtual memory waits for work [h200].
#include "report_machine.h"
#include "tessera/buffers/sleepable_buffer.h"
#include "tessera/owners/retire_queue.h"

namespace tessera::reports {
namespace {

// pytorch 196258: work is queued on device 1, device 0 is synchronized, and the memory unmapped.
TEST(Pytorch196258, BareCallsUnmapWhatAnotherDeviceUses) {
  ReportMachine m;
  const DeviceAddress address = m.mapped(1);
  must(m.allow(address, 1, device_1));
  const ContextHandle first = must(m->ctx_get_current());
  must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_1))));
  must(m.launch(address));
  must(m->ctx_set_current(first));
  must(m->ctx_synchronize());
  EXPECT_THAT(m.unmap(address, 1), is_ok());
  EXPECT_EQ(m.broken(), std::vector{RuleId::unmap_in_flight});
}

TEST(Pytorch196258, ProofIsForTheDevicesThatHaveAccess) {
  ReportMachine m;
  Mapping mapping = must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                                      must(PhysicalAllocation::create(m.use(), {.size = unit}))));
  must(mapping.grant(AccessSet::of_devices({device_0, device_1})));
  const Status refused = mapping.close(must(Quiescence::after_device(m.driver(), device_0)));
  ASSERT_THAT(refused, fails_with(ErrorCode::not_permitted));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("device 1 has access"));
  const std::array both = {device_0, device_1};
  EXPECT_THAT(mapping.close(must(Quiescence::after_devices(m.driver(), both))), is_ok());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// vllm 28714 and 45615: a range is unmapped while a kernel runs on it.
TEST(Vllm28714, BareCallsUnmapUnderAKernelAndLoseTheContext) {
  ReportMachine m;
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  EXPECT_THAT(m.unmap(address, 1), is_ok());
  EXPECT_EQ(m.broken(), std::vector{RuleId::unmap_in_flight});
  EXPECT_THAT(m->ctx_synchronize(), fails_with(ErrorCode::illegal_address));
}

TEST(Vllm28714, ABufferInUseIsNotPutToSleep) {
  ReportMachine m;
  SleepableBuffer buffer = must(SleepableBuffer::make(m.use(), {.size = unit}));
  const StreamHandle stream = m.stream();
  const EventHandle event = m.event();
  must(m.launch(buffer.address(), stream));
  must(m->event_record({.event = event, .stream = stream}));
  // Refused, or waited for: the caller's choice.
  EXPECT_THAT(Quiescence::of_event(m.driver(), device_0, event), fails_with(ErrorCode::not_ready));
  EXPECT_THAT(buffer.sleep(Quiescence::none()), fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(buffer.state(), SleepState::awake);
  EXPECT_THAT(buffer.sleep(must(Quiescence::after_event(m.driver(), device_0, event))), is_ok());
  EXPECT_THAT(m->ctx_synchronize(), is_ok());
  must(buffer.close(Quiescence::none()));
  must(m->event_destroy(event));
  must(m->stream_destroy(stream));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// cuda-python 2886: freeing on a stream unmaps at once, under a kernel that is queued there.
TEST(CudaPython2886, BareCallsUnmapWhatTheStreamStillUses) {
  ReportMachine m;
  const DeviceAddress address = m.mapped(1);
  const StreamHandle stream = m.stream();
  must(m.launch(address, stream));
  EXPECT_THAT(m.unmap(address, 1), is_ok());
  EXPECT_EQ(m.broken(), std::vector{RuleId::unmap_in_flight});
}

TEST(CudaPython2886, RetiringWaitsForTheStream) {
  ReportMachine m;
  Mapping mapping = must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                                      must(PhysicalAllocation::create(m.use(), {.size = unit}))));
  must(mapping.grant(AccessSet::of_device(device_0)));
  const StreamHandle stream = m.stream();
  const EventHandle event = m.event();
  must(m.launch(mapping.begin(), stream));
  must(m->event_record({.event = event, .stream = stream}));
  RetireQueue queue(m.driver());
  must(queue.retire(mapping, {{.device = device_0, .event = event}}));
  EXPECT_EQ(must(queue.collect()), 0U);
  must(m->stream_synchronize(stream));
  EXPECT_EQ(must(queue.collect()), 1U);
  must(m->event_destroy(event));
  must(m->stream_destroy(stream));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// stark-backend 362: a stream waits for an event, and the host unmaps: a stream's wait is not the
// host's.
TEST(StarkBackend362, BareCallsTakeAStreamsWaitForProof) {
  ReportMachine m;
  const DeviceAddress address = m.mapped(1);
  const StreamHandle working = m.stream();
  const StreamHandle waiting = m.stream();
  const EventHandle event = m.event();
  must(m.launch(address, working));
  must(m->event_record({.event = event, .stream = working}));
  must(m->stream_wait_event({.stream = waiting, .event = event}));
  EXPECT_THAT(m.unmap(address, 1), is_ok());
  EXPECT_EQ(m.broken(), std::vector{RuleId::unmap_in_flight});
}

TEST(StarkBackend362, OnlyACompletedEventIsProof) {
  ReportMachine m;
  const EventHandle event = m.event();
  const StreamHandle stream = m.stream();
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address, stream));
  must(m->event_record({.event = event, .stream = stream}));
  EXPECT_THAT(Quiescence::of_event(m.driver(), device_0, event), fails_with(ErrorCode::not_ready));
  m.simulator().advance(2'000'000);
  EXPECT_THAT(Quiescence::of_event(m.driver(), device_0, event), is_ok());
  must(m.unmap(address, 1));
  EXPECT_THAT(m.broken(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
