/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracepoint calls sim_trace_NAME(), if there is such a function; others do nothing. */
#ifndef SIM_SHIM_TRACE_H
#define SIM_SHIM_TRACE_H

#define TP_PROTO(...)	__VA_ARGS__
#define TP_ARGS(...)	(__VA_ARGS__)
#define TRACE_EVENT(name, proto, args, ...) \
	void sim_trace_##name(proto) __attribute__((weak)); \
	static inline void trace_##name(proto) \
	{ \
		if (sim_trace_##name) \
			sim_trace_##name args; \
	}
#define DECLARE_EVENT_CLASS(...)	struct sim_trace_class
#define DEFINE_EVENT(class, name, proto, ...) \
	static inline void trace_##name(proto) { }

#endif
