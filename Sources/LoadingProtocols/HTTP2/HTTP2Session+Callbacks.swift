internal import CLoadingHTTP2

/// From C to the session. `owner` is the session, which lives for as long as something is going on; slots come back as
/// they were given.
extension HTTP2Session {
    static var callbacks: clh_callbacks {
        clh_callbacks(
            section: { owner, _, slot, section in
                guard let section else { return }
                HTTP2Session.of(owner)?.received(section.pointee, on: slot)
            },
            data: { owner, _, slot, bytes, count in
                HTTP2Session.of(owner)?.receivedBody(UnsafeRawBufferPointer(start: bytes, count: count), on: slot)
            },
            data_frame: { owner, _, slot, length, endsStream in
                HTTP2Session.of(owner)?.receivedBodyFrame(ofLength: length, endsStream: endsStream, on: slot)
            },
            was_reset: { owner, _, slot, code in
                HTTP2Session.of(owner)?.streamWasReset(HTTP2ErrorCode(rawValue: code), on: slot)
            },
            invalid: { owner, _, slot, text in
                HTTP2Session.of(owner)?.streamIsInvalid(text.map { String(cString: $0) } ?? "", on: slot)
            },
            truncated: { owner, _, slot in
                HTTP2Session.of(owner)?.streamIsTruncated(on: slot)
            },
            closed: { owner, stream, slot, code in
                HTTP2Session.of(owner)?.streamClosed(stream, HTTP2ErrorCode(rawValue: code), on: slot)
            },
            settings: { owner in
                HTTP2Session.of(owner)?.peerSettingsChanged()
            },
            going_away: { owner, lastStream, code in
                HTTP2Session.of(owner)?.peerIsLeaving(after: lastStream, HTTP2ErrorCode(rawValue: code))
            },
            ping_answer: { owner, payload in
                let number = UnsafeRawPointer(payload)?.loadUnaligned(as: UInt64.self)
                HTTP2Session.of(owner)?.pingWasAnswered(UInt64(bigEndian: number ?? 0))
            },
            gave_up: { owner, code, text, length in
                let text = String(decoding: UnsafeBufferPointer(start: text, count: length), as: UTF8.self)
                HTTP2Session.of(owner)?.gaveUp(HTTP2ErrorCode(rawValue: code), text)
            },
            body: { owner, _, slot, capacity, count in
                guard let count, let session = HTTP2Session.of(owner) else { return CLH_BODY_LATER }
                return session.readBody(of: slot, atMost: capacity, count: count)
            },
            body_frame: { owner, _, slot, head, count, endsStream in
                HTTP2Session.of(owner)?.sentBody(
                    head: UnsafeRawBufferPointer(start: head, count: HTTP2FrameHead.length), contentCount: count,
                    isLast: endsStream, of: slot == Int(bitPattern: UInt.max) ? nil : slot)
            })
    }

    @inline(__always)
    private static func of(_ owner: UnsafeMutableRawPointer?) -> HTTP2Session? {
        owner.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension clh_limits {
    init(_ configuration: HTTP2Configuration) {
        let limits = configuration.limits
        self.init(
            section_bytes: limits.maximumHeadLength, section_fields: limits.maximumFieldCount,
            section_excess: HTTPStreamLimits.sectionExcess,
            request_bytes: HTTPStreamRequestEncoder.maximumLength,
            stream_window: UInt32(clamping: configuration.windows.initialStream),
            connection_window: UInt32(clamping: configuration.windows.connection),
            unsent_answers: limits.maximumUnsentAnswers,
            // nghttp2 counts each piece in which the head of such a frame comes; `HTTP2FrameBudget` counts frames.
            continuations: limits.maximumBlockFrameCount &* HTTP2FrameHead.length)
    }
}
