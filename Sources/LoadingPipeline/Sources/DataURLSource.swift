internal import FoundationEssentials
internal import LoadingSemantics
package import LoadingTransport

/// A `data:` URL (MISC-16): the URL contains the bytes.
package final class DataURLSource: LoadSource, Callout, @unchecked Sendable {
    // Sendable because `load` and its uses are confined to the loop, and the rest never changes.

    private let url: String
    private let loop: EventLoop
    /// Confined to the loop.
    private weak var load: SourceLoad?

    package init(_ url: String, on loop: EventLoop) {
        self.url = url
        self.loop = loop
    }

    package func start(for load: SourceLoad) {
        self.load = load
        // A URL may be long, and decoding it then takes time.
        loop.callOut(self)
    }

    package func setPaused(_ isPaused: Bool) {}

    package func stop() { load = nil }

    package func callOut() {
        let content = DataURL(url)
        loop.post { self.deliver(content) }
    }

    private func deliver(_ content: DataURL?) {
        guard let load else { return }
        guard let content else { return load.ended(.cannotDecodeRawData) }
        load.received(
            SourceResponse(
                mimeType: content.mediaType.mimeType, textEncodingName: content.mediaType.charset,
                expectedLength: Int64(content.data.count)))
        load.received(content.data)
        load.ended(nil)
    }
}
