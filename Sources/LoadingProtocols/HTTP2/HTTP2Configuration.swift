/// What a session announces and allows.
package struct HTTP2Configuration: Sendable, Equatable {
    package var limits: HTTP2Limits
    package var windows: HTTP2Windows

    package init(limits: HTTP2Limits = HTTP2Limits(), windows: HTTP2Windows = HTTP2Windows()) {
        self.limits = limits
        self.windows = windows
    }
}
