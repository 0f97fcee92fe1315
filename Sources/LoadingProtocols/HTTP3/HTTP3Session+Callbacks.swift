internal import CLoadingHTTP3

/// From C to the session. `owner` is the session, which lives for as long as something is going on; slots come back as
/// they were given.
extension HTTP3Session {
    static func callbacks(of configuration: HTTP3Configuration) -> cl3_callbacks {
        var callbacks = HTTP3Session.callbacks
        if configuration.qlog != nil {
            callbacks.qlog = { owner, bytes, count, isLast in
                HTTP3Session.of(owner)?.configuration.qlog?(
                    UnsafeRawBufferPointer(start: bytes, count: count), isLast)
            }
        }
        if configuration.secretLog != nil {
            callbacks.secret = { owner, line in
                if let line { HTTP3Session.of(owner)?.configuration.secretLog?(line) }
            }
        }
        return callbacks
    }

    private static var callbacks: cl3_callbacks {
        cl3_callbacks(
            section: { owner, slot, section in
                guard let section else { return }
                HTTP3Session.of(owner)?.received(section.pointee, on: slot)
            },
            data: { owner, slot, bytes, count, pieces in
                let bytes = UnsafeRawBufferPointer(start: bytes, count: count)
                HTTP3Session.of(owner)?.receivedBody(bytes, pieces: pieces, on: slot)
            },
            ended: { owner, slot in
                HTTP3Session.of(owner)?.responseEnded(on: slot)
            },
            was_reset: { owner, slot, code in
                HTTP3Session.of(owner)?.streamWasReset(HTTP3ErrorCode(rawValue: code), on: slot)
            },
            invalid: { owner, slot, text in
                HTTP3Session.of(owner)?.streamIsInvalid(text.map { String(cString: $0) } ?? "", on: slot)
            },
            truncated: { owner, slot in
                HTTP3Session.of(owner)?.streamIsTruncated(on: slot)
            },
            closed: { owner, slot in
                HTTP3Session.of(owner)?.streamClosed(on: slot)
            },
            going_away: { owner, firstRefused in
                HTTP3Session.of(owner)?.peerIsLeaving(before: firstRefused)
            },
            more_streams: { owner in
                HTTP3Session.of(owner)?.peerAllowsMoreStreams()
            },
            body: { owner, slot, room, capacity, count in
                guard let count, let session = HTTP3Session.of(owner) else { return CL3_BODY_LATER }
                return session.readBody(
                    of: slot, into: UnsafeMutableRawBufferPointer(start: room, count: capacity), count: count)
            },
            sent_head: { owner, slot, length in
                HTTP3Session.of(owner)?.sentHead(ofLength: length, on: slot)
            },
            sent_body: { owner, slot, length, frameLength in
                HTTP3Session.of(owner)?.sentBody(ofLength: length, frameLength: frameLength, on: slot)
            },
            sent_request: { owner, slot in
                HTTP3Session.of(owner)?.sentRequest(on: slot)
            },
            handshake_complete: { owner, certificates, count, cipherSuite in
                let chain = UnsafeBufferPointer(start: certificates, count: count).map { [UInt8]($0) }
                HTTP3Session.of(owner)?.handshakeCompleted(with: chain, cipherSuite: cipherSuite)
            },
            early_data_rejected: { owner in
                HTTP3Session.of(owner)?.earlyDataWasRejected()
            },
            ticket: { owner, ticket, parameters, hasEarlyData, lifetime in
                HTTP3Session.of(owner)?.received(
                    HTTP3Resumption(
                        ticket: [UInt8](ticket), transportParameters: [UInt8](parameters),
                        hasEarlyData: hasEarlyData, lifetime: Int64(lifetime)))
            },
            qlog: nil, secret: nil)
    }

    @inline(__always)
    private static func of(_ owner: UnsafeMutableRawPointer?) -> HTTP3Session? {
        owner.map { Unmanaged<HTTP3Session>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension cl3_limits {
    init(_ configuration: HTTP3Configuration) {
        self.init(
            section_bytes: configuration.limits.maximumHeadLength,
            section_fields: configuration.limits.maximumFieldCount,
            section_excess: HTTPStreamLimits.sectionExcess,
            table_capacity: HTTP3Limits.tableCapacity,
            blocked_streams: HTTP3Limits.blockedStreams,
            pending_cancellations: HTTP3Limits.cancelledStreams,
            stream_window: UInt64(configuration.windows.initialStream),
            connection_window: UInt64(configuration.windows.connection),
            unacknowledged: configuration.maximumUnacknowledged,
            unidirectional_streams: UInt64(HTTP3Limits.unidirectionalStreams),
            connection_ids: UInt64(HTTP3Limits.connectionIDs),
            tickets: UInt32(HTTP3Limits.tickets),
            handshake_message: HTTP3Limits.handshakeMessage,
            issuers: HTTP3Limits.issuers,
            idle_timeout: UInt64(configuration.idleTimeout),
            handshake_timeout: UInt64(configuration.handshakeTimeout))
    }
}

extension [UInt8] {
    init(_ bytes: cl3_bytes) {
        self.init(UnsafeBufferPointer(start: bytes.start, count: bytes.count))
    }
}
