internal import Foundation
@_spi(SwiftCorelibsFoundation) internal import FoundationEssentials

extension Data {
    /// Replaces Foundation's implementation of `Data(contentsOf:)` for URLs that are not file URLs.
    @_dynamicReplacement(for:init(_contentsOfRemote:options:))
    private init(loadingContentsOf url: URL, options: Data.ReadingOptions = []) throws {
        self = try RemoteContents.load(url).0
    }
}
