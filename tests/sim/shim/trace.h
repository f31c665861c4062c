/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints do nothing. */
#ifndef SIM_SHIM_TRACE_H
#define SIM_SHIM_TRACE_H

#define TP_PROTO(...)	__VA_ARGS__
#define TRACE_EVENT(name, proto, ...) \
	static inline void trace_##name(proto) { }
#define DECLARE_EVENT_CLASS(...)	struct sim_trace_class
#define DEFINE_EVENT(class, name, proto, ...) \
	static inline void trace_##name(proto) { }

#endif
