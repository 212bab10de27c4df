// SPDX-License-Identifier: Apache-2.0
// The only way to drop a frame: its reason is counted, and ingress ends. A macro, since an action with the standard
// metadata as an argument would copy all of its fields in and out.
#ifndef REFUSE_P4
#define REFUSE_P4

@name("drops")
counter(DROP_COUNTERS, CounterType.packets) drops;

#define REFUSE(reason) \
    drops.count((bit<32>)(bit<8>)drop_reason_t.reason); \
    mark_to_drop(std); \
    exit

#endif
