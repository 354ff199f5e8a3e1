# One image for every role: the command says which (see docker-compose.yml).
# Node runs the TypeScript files as they are, so there is nothing to build.
FROM node:24-slim

ENV NODE_ENV=production
WORKDIR /app

# First what changes rarely, so that a change of code installs nothing.
COPY package.json package-lock.json ./
RUN npm ci --omit=dev && npm cache clean --force
COPY core ./core
COPY config ./config
COPY writeback ./writeback
COPY stores ./stores
COPY cache ./cache
COPY loaders ./loaders
COPY subgraphs ./subgraphs
COPY gateway ./gateway
COPY conformance ./conformance
COPY schema ./schema
COPY cli ./cli
COPY pages ./pages
COPY examples/player-sdk ./examples/player-sdk

# Journals, and the embedded stores of `tidemark start`.
RUN mkdir -m 700 /data && chown node:node /data
VOLUME /data
USER node
# Production: tokens only. In development anybody who reaches the port could claim to be any viewer.
ENV HOST=0.0.0.0 PORT=4000 TIDEMARK_DATA=/data TIDEMARK_MODE=production
# As `npm start` has it: see "Memory" in docs/operating/deploy.md.
ENV NODE_OPTIONS=--max-semi-space-size=8
EXPOSE 4000

# One process per container: it gets SIGTERM itself, and drains.
ENTRYPOINT ["node", "cli/tidemark.ts"]
CMD ["start"]
